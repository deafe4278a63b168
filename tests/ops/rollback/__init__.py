"""Tests of hudictl/ops/rollback."""
