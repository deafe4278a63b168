"""A restore on a real HDFS by executors of Spark: they list, delete, and write rollback blocks, with requests alone."""

from collections.abc import Callable, Iterator

import pytest

from hudictl.cli.main import run
from tests import support
from tests.cluster.conftest import EXECUTORS, python
from tests.cluster.restore_support import executors_list
from tests.hdfs.cluster import Hdfs
from tests.interop.hdfs_lake import HdfsLake, hdfs, lake_of, settings

__all__ = ["executors_list", "hdfs", "python", "settings"]

pytestmark = [pytest.mark.hudi, pytest.mark.hdfs, pytest.mark.full]

LOCAL = "local-cluster[2,1,1024]"
PACKAGES = ("requests", "urllib3", "idna", "certifi", "charset_normalizer")


@pytest.fixture(scope="module", params=support.VERSIONS)
def lake(request: pytest.FixtureRequest, hdfs: Hdfs) -> Iterator[HdfsLake]:
    yield from lake_of(request.param, hdfs)


@pytest.mark.parametrize("lake", ["v6", "v9"], indirect=True)
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_executors_restore(
    lake: HdfsLake,
    python: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    """They know nothing of Hadoop's settings: the name nodes' addresses are sent to them."""
    made = lake.copy(kind)
    target = made.writes[1]
    lake.lake.savepoint(made.uri, target)
    conf = {
        **EXECUTORS,
        "spark.executor.memory": "1024m",
        "spark.pyspark.python": python(*PACKAGES),
        "spark.executorEnv.HADOOP_CONF_DIR": "/nowhere",
    }
    words = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    code = run(["restore", target, "-t", made.uri, "--engine", "spark", "--master", LOCAL, *words, "--yes"])
    assert (code, capsys.readouterr().err) == (0, "")
    assert lake.lake.rows(made.uri) == made.seen(1)
    lake.lake.go_on(made.uri, made.rows[target])
