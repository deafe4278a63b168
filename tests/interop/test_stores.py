"""The real Hudi and hudictl on the same tables on servers of S3, Google Cloud Storage and Azure."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests import support
from tests.interop.judge import Connector, s3a, start
from tests.interop.lake import WAYS, Lake, check_restore
from tests.stores import azurite, versity
from tests.stores.conftest import azure, gcs, server, versitygw
from tests.stores.server import Server

__all__ = ["azure", "gcs", "server", "versitygw"]

pytestmark = [pytest.mark.hudi, pytest.mark.stores]

GCS = ("com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26:jar:shaded",)
ABFS = ("org.apache.hadoop:hadoop-azure:3.3.4", "com.microsoft.azure:azure-storage:7.0.1")


def connector(server: Server) -> Connector:
    """How Hudi reaches a server."""
    if server.root.startswith("s3a:"):
        reached = s3a(server.endpoint, versity.USER, versity.SECRET)
        # A file system stands behind this server: it refuses to delete a folder's object while there is a file in it.
        return replace(reached, settings={**reached.settings, "fs.s3a.directory.marker.retention": "keep"})
    if server.root.startswith("gs:"):
        settings = {
            "fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
            "fs.AbstractFileSystem.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFS",
            "fs.gs.storage.root.url": f"{server.endpoint}/",
            "fs.gs.auth.type": "UNAUTHENTICATED",
            "fs.gs.auth.service.account.enable": "false",
            "fs.gs.auth.null.enable": "true",
            "fs.gs.project.id": "tests",
        }
        return Connector(GCS, settings)
    account = f"{azurite.ACCOUNT}.dfs.core.windows.net"
    settings = {"fs.azure.account.key." + account: azurite.KEY}
    return Connector(ABFS, settings)


@pytest.fixture(scope="module", params=support.VERSIONS)
def lake(request: pytest.FixtureRequest, server: Server) -> Iterator[Lake]:
    with start(request.param, connector(server)) as judge:
        # The completion times of version 6 are told in whole seconds.
        yield Lake(judge, server.root, server.options, pause_s=1.1)


@pytest.mark.short("v9-s3-mor-hudictl")
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("way", WAYS)
def test_a_restore_is_hudis(lake: Lake, kind: str, way: str) -> None:
    """Whole, or begun by hudictl and finished by either; then Hudi writes on."""
    check_restore(lake, lake.make(f"{kind}-{WAYS.index(way)}"), way)
