"""Fixtures that copies of real tables need."""

from tests.fixtures import indexed, no_waiting, overlap, unpack

__all__ = ["indexed", "no_waiting", "overlap", "unpack"]
