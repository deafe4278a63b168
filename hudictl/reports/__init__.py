"""What is: a result type for each command that reads. Nothing here writes."""
