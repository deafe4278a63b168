"""What the table is in: read now, and decided on later. Nothing here writes."""
