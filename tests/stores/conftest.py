"""One server of each kind for all tests of a process."""

from collections.abc import Iterator

import pytest

from tests.stores import azurite, fake_gcs, versity
from tests.stores.server import Server


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
