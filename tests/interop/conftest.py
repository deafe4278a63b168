"""The judges, started when first asked for and shared by all tests of a session."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.interop.judge import Judge, start
from tests.interop.killed import made
from tests.interop.scenarios import Made


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


@pytest.fixture(scope="session")
def tables(judge: Callable[[str], Judge], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Made]:
    """``tables("v9", "mor", metadata=True)``: a table of two commits, made once, to be copied."""
    known: dict[tuple[str, str, bool], Made] = {}

    def get(version: str, kind: str, metadata: bool = True) -> Made:
        key = (version, kind, metadata)
        if key not in known:
            known[key] = made(judge(version), tmp_path_factory.mktemp(version), kind, metadata)
        return known[key]

    return get
