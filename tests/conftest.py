"""For all tests."""

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.s3 import S3

# The sample tables' LOCAL times are UTC: west of it, a host's clock would be behind their timelines for some hours.
os.environ["TZ"] = "UTC"
time.tzset()


@pytest.fixture(scope="session")
def s3() -> "Iterator[S3]":
    """An S3 of this process; each test has keys of its own."""
    from tests.s3 import serve

    with serve() as running:
        yield running
