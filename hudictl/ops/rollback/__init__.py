"""Rollback of one instant: its plan, planning, and execution."""
