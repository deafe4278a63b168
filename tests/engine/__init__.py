"""Tests of hudictl/engine."""
