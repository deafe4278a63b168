"""Restore: its plan, planning, and execution."""
