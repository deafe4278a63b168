"""Tests of hudictl/crash."""
