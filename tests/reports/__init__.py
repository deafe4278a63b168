"""Tests of hudictl/reports."""
