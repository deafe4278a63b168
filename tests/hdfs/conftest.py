"""One HDFS for all tests of a process."""

from collections.abc import Iterator

import pytest

from tests.hdfs.cluster import Hdfs, start


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with start(tmp_path_factory.mktemp("hdfs") / "cluster") as running:
        yield running
