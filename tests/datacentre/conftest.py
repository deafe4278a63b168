"""All of these tests need root; who has no root is told so."""

from pathlib import Path

import pytest

from tests.datacentre.hosts import reason_to_skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    reason = reason_to_skip() if here else ""
    for item in here:
        item.add_marker(pytest.mark.datacentre)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
