"""Fixtures that copies of real tables need."""

from tests.fixtures import no_waiting, overlap, unpack

__all__ = ["no_waiting", "overlap", "unpack"]
