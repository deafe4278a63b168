"""Whole operations on each server, by the command line: as on local files, but for what stores cannot do."""

import re
import uuid
from pathlib import Path

import pytest

from tests import support
from tests.cli.conftest import Tell, _plain, tell
from tests.cli.object_store_support import bare, files
from tests.stores.server import Server

__all__ = ["_plain", "tell"]

pytestmark = pytest.mark.stores

TABLES = [("v6", "mor_savepoints"), ("v8", "cow_part"), ("v9", "mor_part")]


def both(server: Server, folder: Path, version: str, name: str) -> tuple[Path, str, str]:
    """A local table and its copy: base path, prefix, URI."""
    base = support.unpack(version, name, folder)
    prefix = f"whole/{uuid.uuid4()}"
    return base, prefix, server.upload(base, prefix)


def check_alike(server: Server, base: Path, prefix: str, folder: Path) -> None:
    """The same timeline, and data files of the same sizes."""
    assert without_times(server.names(prefix)) == without_times(files(base))
    copy = server.download(prefix, folder)
    for path in bare(files(base)):
        if not path.startswith(".hoodie"):
            assert (base / path).stat().st_size == (copy / path).stat().st_size


def without_times(names: set[str]) -> set[str]:
    """Without those of rollbacks, too."""
    return {re.sub(r"\d{17,20}(_\d{17})?\.rollback", "R.rollback", name) for name in bare(names)}


@pytest.mark.short("azure-v9")
@pytest.mark.parametrize(("version", "name"), TABLES)
def test_a_whole_restore(server: Server, tell: Tell, tmp_path: Path, version: str, name: str) -> None:
    """Again is nothing to do; nothing but the result is printed."""
    base, prefix, uri = both(server, tmp_path, version, name)
    target = sorted(support.facts(version, name)["rows"])[1]
    for place in (str(base), uri):
        common = ("-t", place, "--yes", "--engine", "local", *server.arguments)
        assert tell("savepoint", "create", target, *common).code == 0
        said = tell("restore", target, *common, "-o", "json")
        assert (said.code, said.err) == (0, "")
        assert said.json["result"]["target"] == target
        again = tell("restore", target, *common)
        assert (again.code, "nothing to do" in again.out, again.err) == (0, True, "")
    check_alike(server, base, prefix, tmp_path / "copy")


@pytest.mark.short("azure-v6")
@pytest.mark.parametrize(("version", "name"), [("v6", "mor_part"), ("v9", "cow_part")])
def test_a_rollback(server: Server, tell: Tell, tmp_path: Path, version: str, name: str) -> None:
    """Of the last commit, whose savepoint has stood in its way."""
    base, prefix, uri = both(server, tmp_path, version, name)
    last = max(support.facts(version, name)["rows"])
    for place in (str(base), uri):
        common = ("-t", place, "--yes", "--engine", "local", *server.arguments)
        assert tell("savepoint", "create", last, *common).code == 0
        assert tell("rollback", last, *common, "--idle", "0s").code == 13
        assert tell("savepoint", "delete", last, *common).code == 0
        said = tell("rollback", last, *common, "--idle", "0s")
        assert (said.code, said.err) == (0, "")
    check_alike(server, base, prefix, tmp_path / "copy")


@pytest.mark.short("azure")
def test_numbers_of_buckets_by_partition(server: Server, tell: Tell, tmp_path: Path) -> None:
    """The last of them goes; there is no folder that could be left empty."""
    base, prefix, uri = both(server, tmp_path, "v9", "rescaled")
    commits = [row["time"] for row in tell("timeline", "show", "-t", str(base), "-o", "json").json["rows"]]
    for place in (str(base), uri):
        common = ("-t", place, "--yes", "--engine", "local", *server.arguments)
        assert tell("restore", "--to-instant", commits[-2], *common, "--idle", "0s").code == 0
    check_alike(server, base, prefix, tmp_path / "copy")
    assert not [name for name in server.names(prefix) if "bucket_index" in name]


@pytest.mark.short("azure-v6")
@pytest.mark.parametrize(("version", "name"), TABLES)
def test_an_undo(server: Server, tell: Tell, tmp_path: Path, version: str, name: str) -> None:
    """All objects are as before, with other times: a store gives them."""
    base, prefix, uri = both(server, tmp_path, version, name)
    target = sorted(support.facts(version, name)["rows"])[0]
    common = ("-t", uri, "--yes", "--engine", "local", "--idle", "0s", *server.arguments)
    said = tell("restore", "--to-instant", target, "--keep-files", "--delete-later-savepoints", *common, "-o", "json")
    assert (said.code, said.err) == (0, "")
    assert server.names(prefix) != files(base)
    said = tell("undo", said.json["result"]["undo"], *common)
    assert (said.code, said.err) == (0, "")
    copy = server.download(prefix, tmp_path / "copy")
    own = ".hoodie/.hudictl/"
    assert {path for path in bare(server.names(prefix)) if not path.startswith(own)} == bare(files(base))
    for path in bare(files(base)):
        assert (base / path).read_bytes() == (copy / path).read_bytes()
    assert not [path for path in server.names(prefix) if path.startswith(f"{own}undo/")]
