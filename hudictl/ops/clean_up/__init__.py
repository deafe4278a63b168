"""What is left behind."""
