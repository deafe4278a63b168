"""What the tests of restore share with others."""

import pytest

from tests.cluster.conftest import EXECUTORS


@pytest.fixture(autouse=True)
def executors_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small as the tables are: the executors list, decode, decide and list again, not this process. What they cannot
    decode without fastavro, this process does."""
    monkeypatch.setattr("hudictl.table.files.sweep._ENOUGH_FILES", 0)
    monkeypatch.setattr("hudictl.table.files.written._ENOUGH_BYTES", 0)
    monkeypatch.setattr("hudictl.table.files.saved._ENOUGH_BYTES", 0)
    monkeypatch.setattr("hudictl.table.metadata.listing._ENOUGH_BYTES", -1)


def on_cluster(master: str, python: str) -> list[str]:
    conf = {**EXECUTORS, "spark.pyspark.python": python}
    return [
        "--master",
        master,
        "--shared-filesystem",
        *(word for pair in conf.items() for word in ("--conf", "=".join(pair))),
    ]
