"""What the ``log`` commands tell."""
