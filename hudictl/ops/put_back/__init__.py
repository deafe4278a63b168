"""Undoing a restore, a rollback or a deletion that has kept its files."""
