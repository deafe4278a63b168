"""``--require-index`` on the command line: what is done is shown where an index is lost; a rerun says no less."""

import json
from collections.abc import Callable

import pytest

from hudictl.ops.metadata import keep as module
from hudictl.table.operations import read_operation
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, drop, put
from tests.ops.rollback.execute_support import newest

LOCAL = ("--engine", "local")
NAME = "cow_record_index"
WRONG = "its listing differs from storage: part-0/a.parquet"
Line = Callable[[Copy], tuple[object, ...]]


def restoring(copy: Copy) -> tuple[object, ...]:
    return "restore", "--to-instant", copy.commits[-2], "-t", copy.path, *LOCAL, "--yes", "-o", "json"


def rolling_back(copy: Copy) -> tuple[object, ...]:
    return "rollback", newest(copy), "-t", copy.path, *LOCAL, "--yes", "-o", "json"


@pytest.fixture
def give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It turns out at the end that the metadata table cannot be kept."""
    monkeypatch.setattr(module, "_bring_in_line", lambda *_: WRONG)


@pytest.mark.usefixtures("give_up")
@pytest.mark.parametrize("required", ["record_index", "all"])
@pytest.mark.parametrize(("version", "line"), [("v6", restoring), ("v9", restoring), ("v6", rolling_back)])
def test_3_with_the_result_and_again(unpack: Unpack, tell: Tell, version: str, line: Line, required: str) -> None:
    copy = unpack(version, NAME)
    words, before = line(copy), len(copy.data())
    said = tell(*words, "--require-index", required)
    error, result = json.loads(said.err), said.json["result"]
    assert (said.code, error["slug"], said.json["outcome"]) == (3, "findings", "done")
    assert "record_index" in error["fields"]["partitions"]
    assert WRONG in error["message"]
    assert result["files_deleted"] == before - len(copy.data()) > 0
    assert (result["metadata_table"], result["metadata_table_given_up"]) == ("deleted", WRONG)
    record = read_operation(copy.table.storage, result.get("restore") or result["rollback"])
    assert record is not None
    assert (record.last.exit_code, (record.last.report or {})["files_deleted"]) == (3, result["files_deleted"])
    # Whoever runs it again without the option is told, too.
    for more in (("--require-index", required), ()):
        again = tell(*words, *more)
        assert (again.code, again.out) == (3, "")
        assert "record_index is not in use" in json.loads(again.err)["message"]


@pytest.mark.usefixtures("give_up")
@pytest.mark.parametrize("required", ["record_index", "all"])
def test_after_the_next_write_only_who_names_it_is_told(unpack: Unpack, tell: Tell, required: str) -> None:
    """That write may have built it again."""
    copy = unpack("v6", NAME)
    words = rolling_back(copy)
    assert tell(*words, "--require-index", required).code == 3
    copy.write("20991231000000000.commit.requested")
    assert tell(*words).code == 0
    assert tell(*words, "--require-index", required).code == (0 if required == "all" else 3)


@pytest.mark.slow
@pytest.mark.parametrize("line", [restoring, rolling_back])
@pytest.mark.parametrize("version", ["v6", "v9"])
def test_0_again_where_it_was_kept(unpack: Unpack, tell: Tell, version: str, line: Line) -> None:
    copy = unpack(version, NAME)
    words = line(copy)
    for required in ("record_index", "all", "record_index"):
        assert tell(*words, "--require-index", required).code == 0


@pytest.mark.slow
def test_a_rerun_names_an_index_that_never_was(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    words = restoring(copy)
    assert tell(*words).code == 0
    again = tell(*words, "--require-index", "record_index")
    assert (again.code, json.loads(again.err)["fields"]["partitions"]) == (3, ["record_index"])


@pytest.mark.usefixtures("give_up")
@pytest.mark.parametrize("required", [(), ("--require-index", "record_index")])
def test_failed_writes_clean_has_it_in_the_row(unpack: Unpack, tell: Tell, required: tuple[str, ...]) -> None:
    copy = unpack("v6", NAME)
    target, before = newest(copy), len(copy.data())
    drop(copy.file(target, "commit"))
    for path in copy.timeline.glob(f"{target}.*"):
        put(path, path.read_bytes())
    words = ("failed-writes", "clean", "--policy", "eager", "-t", copy.path, *LOCAL, "--yes", "-o", "json")
    said = tell(*words, *required)
    (row,) = said.json["rows"]
    assert (row["outcome"], row["files_deleted"]) == ("rolled back", before - len(copy.data()))
    assert row["files_deleted"] > 0
    assert (row["metadata_table"], WRONG in row["message"]) == ("deleted", True)
    assert (said.code, row["exit_code"]) == ((3, 3) if required else (0, 0))
    assert not required or json.loads(said.err)["fields"]["found"] == [target]
