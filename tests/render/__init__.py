"""Tests of hudictl/render."""
