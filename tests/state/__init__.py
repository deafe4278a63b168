"""Tests of hudictl/state."""
