"""The judges, started when first asked for and shared by all tests of a session."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.interop.judge import Judge, start


@pytest.fixture(scope="session")
def judge() -> Iterator[Callable[[str], Judge]]:
    """``judge("v9")``: the Hudi release that writes table version 9."""
    running: dict[str, Judge] = {}
    with ExitStack() as stack:

        def get(version: str) -> Judge:
            # One that died was reported by the test it died in; the others get a new one.
            if version not in running or running[version].process.poll() is not None:
                running[version] = stack.enter_context(start(version))
            return running[version]

        yield get
