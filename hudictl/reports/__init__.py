"""The commands that read: a module and a result type for each. Nothing here writes."""
