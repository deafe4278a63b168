"""All of these tests need namespaces."""

import pytest

from tests.datacentre.hosts import reason_to_skip


@pytest.fixture(scope="session", autouse=True)
def _namespaces() -> None:
    if reason := reason_to_skip():
        pytest.skip(reason)
