"""All of these tests need namespaces."""

from pathlib import Path

import pytest

from tests.datacentre.hosts import reason_to_skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.datacentre)


@pytest.fixture(scope="session", autouse=True)
def _namespaces() -> None:
    if reason := reason_to_skip():
        pytest.skip(reason)
