"""A restore on a real HDFS that keeps its files, and its undo: all is as before, with the times of what was renamed."""

import getpass
import uuid
from pathlib import Path

import pytest

from tests import support
from tests.cli.conftest import Tell, tell, unpack
from tests.hdfs.cluster import Hdfs

__all__ = ["tell", "unpack"]

pytestmark = pytest.mark.hdfs


def _files(hdfs: Hdfs, base: str, folder: Path) -> dict[str, bytes]:
    """All files of the table but hudictl's own, by a download that is not hudictl's."""
    hdfs.ask("download", path=base, folder=str(folder))
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in found.items()
        if not name.startswith(".hoodie/.hudictl/") and path.suffix != ".crc"
    }


@pytest.mark.short("v9-cow_flat_nomdt")
@pytest.mark.parametrize(
    ("version", "name"), [("v9", "cow_flat_nomdt"), ("v6", "mor_savepoints"), ("v9", "mor_savepoints")]
)
def test_a_restore_is_undone(hdfs: Hdfs, tell: Tell, tmp_path: Path, version: str, name: str) -> None:
    base = f"/undo/{uuid.uuid4()}"
    hdfs.ask("upload", path=base, folder=str(support.unpack(version, name, tmp_path)))
    before = _files(hdfs, base, tmp_path / "before")
    address = (
        "--storage-option",
        f"http_address={','.join(hdfs.http)}",
        "--storage-option",
        f"user={getpass.getuser()}",
    )
    common = ("-t", f"{hdfs.uri}{base}", *address, "--engine", "local", "--idle", "0s", "--yes")
    target = sorted(support.facts(version, name)["rows"])[0]
    said = tell("restore", "--to-instant", target, "--delete-later-savepoints", "--keep-files", *common, "-o", "json")
    assert (said.code, said.err) == (0, "")
    assert _files(hdfs, base, tmp_path / "restored") != before
    said = tell("undo", said.json["result"]["undo"], *common)
    assert (said.code, said.err) == (0, "")
    assert _files(hdfs, base, tmp_path / "after") == before
    room = (tmp_path / "after/.hoodie/.hudictl/undo").rglob("*")
    assert not [path for path in room if path.is_file() and path.suffix != ".crc"]
