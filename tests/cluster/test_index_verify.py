"""``metadata verify --indexes`` on executors says what this host does."""

from collections.abc import Callable

import pytest

from tests.cli.conftest import Tell, Unpack, _plain, indexed, tell
from tests.cluster.restore_support import on_cluster
from tests.helpers import drop
from tests.metadata_edits import newest_log

__all__ = ["_plain", "indexed", "tell"]


@pytest.fixture(scope="session")
def with_readers(python: Callable[..., str]) -> str:
    """What reading indexes and data takes."""
    return python("fsspec", "fastavro", "pyarrow")


@pytest.mark.full
def test_executors_say_what_this_host_does(indexed: Unpack, tell: Tell, master: str, with_readers: str) -> None:
    copy = indexed("v9", "mor")
    words = ("metadata", "verify", "--indexes", "-t", copy.path, "-o", "json")
    said = tell(*words, *on_cluster(master, with_readers))
    assert (said.code, said.json["rows"]) == (0, [])
    for index in ("record_index", "column_stats", "bloom_filters"):
        drop(newest_log(copy.path, index))
    expected = tell(*words, "--engine", "local")
    said = tell(*words, *on_cluster(master, with_readers))
    assert (said.code, said.json) == (3, expected.json)
    # The command in the hint names the engine of each.
    assert said.error | {"hint": ""} == expected.error | {"hint": ""}
    assert "--engine=local bloom_filters`" in expected.error["hint"]
    assert {row["index"] for row in said.json["rows"]} == {"record_index", "column_stats", "bloom_filters"}


def test_an_executor_without_fastavro(indexed: Unpack, tell: Tell, master: str, fsspec_only: str) -> None:
    """In one line; nothing is called different."""
    copy = indexed("v9", "cow")
    said = tell("metadata", "verify", "--indexes", "-t", copy.path, *on_cluster(master, fsspec_only), "-o", "json")
    assert (said.code, said.out) == (16, "")
    assert said.error["fields"]["module"] in ("fastavro", "pyarrow")
