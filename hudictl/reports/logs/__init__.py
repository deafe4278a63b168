"""What the ``log`` commands tell: inspect (blocks), records (block by block, or merged), slices, verify."""
