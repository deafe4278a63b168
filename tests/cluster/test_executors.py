"""What executors lack is said in one line, before any work."""

import sys
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hudictl.engine.spark import SparkEngine
from hudictl.errors import EngineFailed
from hudictl.storage.local import LocalStorage
from hudictl.storage.open import open_storage
from tests.cluster.conftest import EXECUTORS


def refused(master: str, python: str, look: Callable[[], object]) -> EngineFailed:
    engine = SparkEngine(master, {**EXECUTORS, "spark.pyspark.python": python}, look)
    try:
        with pytest.raises(EngineFailed) as caught:
            engine.ready()
    finally:
        engine.close()
    assert "\n" not in caught.value.message
    return caught.value


def test_no_python(master: str) -> None:
    assert refused(master, "/nowhere/python", bool).fields == {"python": "/nowhere/python"}


def test_a_python_that_does_not_start(master: str, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho libpython3.so is missing >&2\nexit 127\n")
    broken.chmod(0o755)
    assert "does not start: libpython3.so is missing" in refused(master, str(broken), bool).message


def test_another_python(master: str, python: Callable[..., str]) -> None:
    """One that says that it is the next release: that is what PySpark goes by."""
    minor = sys.version_info.minor
    path = python()
    (site,) = Path(path).parents[1].glob("lib/python*/site-packages")
    (site / "sitecustomize.py").write_text(
        "import collections, sys\n"
        "kind = collections.namedtuple('version_info', 'major minor micro releaselevel serial')\n"
        f"sys.version_info = kind(3, {minor + 1}, 0, 'final', 0)\n"
    )
    said = refused(master, path, bool).message
    assert f"executors run Python 3.{minor + 1}, and hudictl Python 3.{minor}:" in said


@pytest.mark.full
def test_a_python_out_of_an_archive(master: str, fsspec_only: str, tmp_path: Path) -> None:
    """As docs/engines.md says: unpacked in each executor's folder, and named relative to it."""
    archive = tmp_path / "environment.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(Path(fsspec_only).parents[1], ".")
    conf = {"spark.archives": f"{archive}#environment", "spark.pyspark.python": "./environment/bin/python"}
    store = open_storage(f"local://{tmp_path}", ".scratch")
    engine = SparkEngine(master, {**EXECUTORS, **conf}, partial(store.list, ""))
    try:
        engine.ready()
        assert [result.value for result in engine.map("list", store.list, [""])] == [store.list("")]
    finally:
        engine.close()


def test_no_fsspec(master: str, python: Callable[..., str], tmp_path: Path) -> None:
    look = partial(open_storage(f"local://{tmp_path}", ".scratch").list, "")
    assert refused(master, python(), look).fields == {"module": "fsspec"}


def test_other_files(master: str, fsspec_only: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path leads elsewhere on executors, as one does that is not mounted on their hosts."""
    (tmp_path / "table").mkdir()
    (tmp_path / "table/f").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    said = refused(master, fsspec_only, partial(LocalStorage("table", ".scratch").read, "f"))
    assert "do not see the table as this host does: " in said.message
    assert "table/f" in said.message
    assert said.fields["hosts"]
