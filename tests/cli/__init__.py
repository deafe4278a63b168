"""Tests of hudictl/cli."""
