"""Fixtures that copies of real tables need."""

from tests.fixtures import no_fsync, overlap, unpack

__all__ = ["no_fsync", "overlap", "unpack"]
