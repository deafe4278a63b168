"""Fixtures that copies of real tables need."""

from tests.fixtures import indexed, no_fsync, overlap, unpack

__all__ = ["indexed", "no_fsync", "overlap", "unpack"]
