"""Tests of hudictl/ops/guards."""
