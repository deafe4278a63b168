"""What will change: guards, plans, and their execution."""
