"""Tests of hudictl/ops/savepoint."""
