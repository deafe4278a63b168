"""One server of each kind for all tests of a process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores import azurite, fake_gcs, versity
from tests.stores.server import Server

SLOW = {"versitygw", "gcs"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """To build two of the servers takes minutes: the long form alone does."""
    for item in items:
        needs = set(getattr(item, "fixturenames", ()))
        chosen = item.callspec.params.get("server") if hasattr(item, "callspec") else None
        if item.path.parent == Path(__file__).parent and (needs & SLOW or chosen in ("s3", "gcs")):
            item.add_marker(pytest.mark.full)


@pytest.fixture(scope="session")
def versitygw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with versity.start(tmp_path_factory.mktemp("versitygw") / "server") as running:
        yield running


@pytest.fixture(scope="session")
def gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("gcsfs", reason="the extra gcs is not installed: pip install 'hudictl[gcs]'")
    with fake_gcs.start(tmp_path_factory.mktemp("gcs") / "server") as running:
        yield running


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("adlfs", reason="the extra azure is not installed: pip install 'hudictl[azure]'")
    with azurite.start(tmp_path_factory.mktemp("azure") / "server") as running:
        yield running


@pytest.fixture(scope="session", params=["s3", "gcs", "azure"])
def server(request: pytest.FixtureRequest) -> Server:
    """Each of them."""
    running: Server = request.getfixturevalue({"s3": "versitygw"}.get(request.param, request.param))
    return running
