"""The ``log`` commands: inspect (blocks), records (block by block, or merged), slices, verify."""
