"""Tests of hudictl/ops/restore."""
