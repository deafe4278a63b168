"""Commands on a table in HDFS: what they show there, and how they fail."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy
from tests.storage import name_node
from tests.storage.name_node import NameNode, refusal, serving

pytestmark = pytest.mark.slow

LOCAL = ("--engine", "local")


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.setattr("hudictl.storage.webhdfs._PAUSES_S", (0,))


@pytest.fixture
def copy(unpack: Unpack) -> Copy:
    return unpack("v9", "mor_savepoints")


@pytest.fixture
def node(copy: Copy) -> Iterator[NameNode]:
    with serving(NameNode(Path(copy.path).parent)) as running:
        yield running


def on_hdfs(node: NameNode, copy: Copy) -> tuple[str, ...]:
    address = node.address.removeprefix("http://")
    table = f"hdfs://lake/{Path(copy.path).name}"
    return ("-t", table, "--storage-option", f"http_address={address}", "--storage-option", "user=hudi")


def test_a_restore(tell: Tell, node: NameNode, copy: Copy) -> None:
    """From the plan to the end, under the table's own URI."""
    table, target = on_hdfs(node, copy), copy.savepoints[-1]
    for arguments in ((), ("-o", "json")):
        assert "HDFS snapshots" not in tell("restore", target, *table, *LOCAL, "--plan", *arguments).out
    node.local(f"/{Path(copy.path).name}/.snapshot/daily").mkdir(parents=True)
    planned = tell("restore", target, *table, *LOCAL, "--plan", "-o", "json")
    assert planned.json["table"] == table[1]
    assert "daily" in planned.json["notes"][-1]
    assert "HDFS snapshots of" in tell("restore", target, *table, *LOCAL, "--plan").out

    done = tell("restore", target, *table, *LOCAL, "--yes")
    assert (done.code, done.err) == (0, "")
    assert f"restored to {target}" in done.out
    assert tell("check", *table, *LOCAL).code == 0
    again = tell("restore", target, *table, *LOCAL, "--yes")
    assert (again.code, "is already" in again.out or "nothing to do" in again.out) == (0, True)


def test_nothing_answers(tell: Tell) -> None:
    said = tell("timeline", "show", "-t", "hdfs://127.0.0.1:1/lake/t", "--storage-option", "http_address=127.0.0.1:9")
    assert said.code == 15
    assert "127.0.0.1:9" in said.line
    assert "HADOOP_CONF_DIR" in said.err


@pytest.mark.parametrize(
    ("table", "options", "shown"),
    [
        ("hdfs:///lake/t", (), "fs.defaultFS"),
        ("webhdfs:///lake/t", (), "names no host"),
        ("hdfs://lake/t", ("--storage-option", "key=value"), "known: http_address, user, kerberos, verify"),
    ],
)
def test_a_place_that_cannot_be_found(tell: Tell, table: str, options: tuple[str, ...], shown: str) -> None:
    said = tell("timeline", "show", "-t", table, *options)
    assert said.code == 2
    assert shown in said.line


def test_an_operator_without_access(tell: Tell, node: NameNode, copy: Copy) -> None:
    """Nothing was changed, says the error, whoever refused."""
    before = node.files
    table = on_hdfs(node, copy)
    node.before = lambda request: (
        refusal("org.apache.hadoop.security.AccessControlException", "Permission denied: user=hudi")
        if request.method == "PUT"
        else None
    )
    said = tell("restore", copy.savepoints[-1], *table, *LOCAL, "--yes", "-o", "json")
    error = json.loads(said.err.splitlines()[-1])
    assert (said.code, error["slug"]) == (15, "storage")
    assert "Permission denied: user=hudi" in error["message"]
    assert node.files == before


def test_no_active_name_node(tell: Tell, node: NameNode, copy: Copy) -> None:
    node.before = lambda _: refusal(name_node.STANDBY, "Operation category READ is not supported in state standby")
    said = tell("timeline", "show", *on_hdfs(node, copy))
    assert said.code == 15
    assert "state standby" in said.line
