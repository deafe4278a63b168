"""What is: a module for each command that reads, and its result type. Nothing here writes."""
