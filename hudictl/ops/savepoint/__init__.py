"""Savepoints: created with all checks, deleted, proved to be restorable."""
