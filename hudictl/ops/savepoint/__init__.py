"""Savepoints: created with all guards, deleted, tested whether they can be restored."""
