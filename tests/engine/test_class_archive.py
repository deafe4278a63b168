"""The archive of Spark's classes: it makes a start faster, and does no harm."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.engine.class_archive import archive_options, forget

DAY = 24 * 3600
MAGIC = b"\xa8\xab\x0b\xf0"

Options = Callable[[], list[str]]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of this host, which has been used before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache/hudictl").mkdir(mode=0o700, parents=True)
    return tmp_path / "cache"


def java(tmp_path: Path, version: str = "17.0.15") -> tuple[str, Path]:
    """A Java of a version, and a folder of jars."""
    (tmp_path / "jdk/bin").mkdir(parents=True, exist_ok=True)
    (tmp_path / "jars").mkdir(exist_ok=True)
    if not (tmp_path / "jdk/bin/java").exists():
        (tmp_path / "jdk/bin/java").touch()
    (tmp_path / "jdk/release").write_text(f'JAVA_VERSION="{version}"\n')
    return str(tmp_path / "jdk/bin/java"), tmp_path / "jars"


def path_of(option: str) -> Path:
    return Path(option.partition("=")[2])


def test_it_is_made_once_and_then_used(tmp_path: Path, cache: Path) -> None:
    made, checked = archive_options(*java(tmp_path))
    assert made.startswith("-XX:ArchiveClassesAtExit=")
    archive = path_of(made)
    assert archive.parent == cache / "hudictl"
    archive.write_bytes(MAGIC + b"classes")
    assert archive_options(*java(tmp_path)) == [
        f"-XX:SharedArchiveFile={archive}",
        "-Xshare:auto",
        checked,
        "-XX:ErrorFile=/dev/null",
    ]


def test_a_host_that_is_used_once_makes_none(tmp_path: Path, cache: Path) -> None:
    """As a container: it would take a second more each time. The folder is this user's alone."""
    (cache / "hudictl").rmdir()
    assert archive_options(*java(tmp_path)) == []
    assert (cache / "hudictl").stat().st_mode & 0o777 == 0o700
    assert archive_options(*java(tmp_path)) != []


@pytest.mark.parametrize("body", [b"", b"\0" * 4096, b"not an archive"])
def test_one_that_was_not_written_to_its_end_is_made_again(tmp_path: Path, cache: Path, body: bytes) -> None:
    made = archive_options(*java(tmp_path))
    path_of(made[0]).write_bytes(body)
    assert archive_options(*java(tmp_path)) == made


def test_another_java_or_spark_has_another(tmp_path: Path, cache: Path) -> None:
    command, jars = java(tmp_path)
    first = archive_options(command, jars)
    os.utime(jars, (1, 1))
    second = archive_options(command, jars)
    os.utime(command, (1, 1))
    assert len({options[0] for options in (first, second, archive_options(command, jars))}) == 3


def test_one_that_nobody_uses_is_deleted(tmp_path: Path, cache: Path) -> None:
    made, _ = archive_options(*java(tmp_path))
    archive, old, recent = path_of(made), cache / "hudictl/spark-old.jsa", cache / "hudictl/spark-recent.jsa"
    for path, age in ((archive, 20 * DAY), (old, 31 * DAY), (recent, 29 * DAY)):
        path.write_bytes(MAGIC)
        os.utime(path, (time.time() - age, time.time() - age))
    archive_options(*java(tmp_path))
    assert not old.exists()
    assert recent.exists()
    assert archive.stat().st_mtime > time.time() - DAY


def test_what_others_may_write_is_not_used(tmp_path: Path, cache: Path) -> None:
    """A JVM executes what is in it."""
    assert archive_options(*java(tmp_path))
    (cache / "hudictl").chmod(0o770)
    assert archive_options(*java(tmp_path)) == []


def test_without_a_folder_there_is_none(tmp_path: Path, cache: Path) -> None:
    (cache / "hudictl").rmdir()
    (cache / "hudictl").write_text("a file")
    assert archive_options(*java(tmp_path)) == []


def test_old_javas_make_none(tmp_path: Path, cache: Path) -> None:
    assert archive_options(*java(tmp_path, "11.0.2")) == []
    assert archive_options(str(tmp_path / "missing/bin/java"), tmp_path) == []
    assert not any((cache / "hudictl").iterdir())


def test_one_that_a_jvm_refuses_is_forgotten(tmp_path: Path) -> None:
    archive = tmp_path / "a.jsa"
    archive.touch()
    forget([f"-XX:ArchiveClassesAtExit={archive}"])
    forget([])
    assert archive.exists()
    forget([f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"])
    forget([f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"])
    assert not archive.exists()


PROGRAM = """
from hudictl.engine.spark import SparkEngine
engine = SparkEngine("local")
print([result.value for result in engine.map("x", str, [1, 2])])
engine.close()
"""


def answer() -> str:
    """What a start of Spark prints, on both streams."""
    # A Spark of this process has set some of these, which Spark's own launcher would start it for.
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    program = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=True, env=env)
    return done.stdout + done.stderr


@pytest.mark.cluster
def test_spark_starts_with_it_and_with_a_broken_one(cache: Path) -> None:
    """Made after the first process has ended; a broken one, or one of another JVM, is seen by the JVM, and deleted."""
    archive: list[Path] = []
    assert answer() == "['1', '2']\n"
    until = time.monotonic() + 120
    while not (archive := [path for path in cache.glob("hudictl/*.jsa") if path.read_bytes()[:4] == MAGIC]):
        assert time.monotonic() < until
        time.sleep(0.2)
    whole = archive[0].read_bytes()
    assert answer() == "['1', '2']\n"
    assert archive[0].read_bytes() == whole
    half = len(whole) // 2
    for broken in (whole[:half], whole[:half] + bytes(1000) + whole[half + 1000 :]):
        archive[0].write_bytes(broken)
        assert answer() == "['1', '2']\n"
        assert not archive[0].exists() or archive[0].read_bytes() != broken
