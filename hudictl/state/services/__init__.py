"""Table services."""
