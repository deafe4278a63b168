"""The settings with which the JVM of Spark starts."""

import errno
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from hudictl.engine import jvm, spark
from hudictl.engine.jvm import _address, _memory, _reason, _set_by_host, forget_ended
from hudictl.engine.spark import SparkEngine
from hudictl.errors import EngineFailed


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this host."""
    for name in [name for name in os.environ if name.startswith(("SPARK_", "PYSPARK_", "HADOOP_"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("variable", ["SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME"])
def test_the_workers_of_a_local_cluster_listen_on_loopback(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    local = {"spark.master": "local-cluster[2,1,1024]"}
    assert _address(local) == {"SPARK_LOCAL_IP": "127.0.0.1"}
    # Of one JVM, settings say it; executors elsewhere have to reach their driver; the operator knows better.
    assert [_address({"spark.master": other}) for other in ("local[2]", "spark://h:7077", "yarn")] == [{}, {}, {}]
    monkeypatch.setenv(variable, "10.0.0.1")
    assert _address(local) == {}


def test_the_jvm_gets_a_quarter_of_the_hosts_memory_unless_it_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not more than 8 GiB, and not less than Spark's own default; what the host's file says is not overruled."""
    for host_gib, expected in ((2, "1024m"), (8, "2048m"), (500, "8192m")):
        monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": host_gib * 2**18, "SC_PAGE_SIZE": 4096}.__getitem__)
        assert _memory() == {"spark.driver.memory": expected}
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", "3g")
    assert _memory() == {}
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert _set_by_host() == set()
    (tmp_path / "spark-defaults.conf").write_text("# spark.a 1\nspark.driver.memory  9g\n  spark.b=2\n")
    assert {"spark.driver.memory", "spark.b"} <= _set_by_host()
    assert "spark.a" not in _set_by_host()


def test_the_reason_is_not_the_chatter_before_it() -> None:
    said = "Picked up JAVA_OPTIONS\n[0.013s][warning][cds] shared class paths mismatch\nInvalid maximum heap size\n"
    assert _reason(said) == "Invalid maximum heap size"
    assert _reason("26/11/25 02:19:51 WARN Utils: x\n") == ""
    assert _reason("[Stage 0:>   (0 + 1) / 1]\n26/12/01 03:55:43 ERROR Utils: no disk\n") == "no disk"


def test_the_reason_is_not_what_was_done_before_it() -> None:
    ivy = "loading spark env\nIvy Default Cache set to: /x\n26/12/01 03:55:43 ERROR Utils: first\n"
    assert _reason(f'{ivy}Exception in thread "main" java.lang.RuntimeException: [x: not found]\n\tat y\n') == (
        "java.lang.RuntimeException: [x: not found]"
    )
    ended = "Terminating due to java.lang.OutOfMemoryError: Java heap space"
    assert _reason(f"{ivy}{ended}\n") == ended


def starts_with(script: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> SparkEngine:
    """An engine whose Spark is this script."""
    import pyspark

    monkeypatch.setattr(pyspark.SparkContext, "_gateway", None)
    monkeypatch.setattr(pyspark.SparkContext, "_jvm", None)
    monkeypatch.setattr(pyspark.SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(spark, "java_home", lambda version: None)
    submit = home / "bin/spark-submit"
    submit.parent.mkdir()
    submit.write_text(f"#!/bin/sh\n{script}\n")
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(home))
    return SparkEngine("local")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo openjdk 17; exit 0", "did not start: openjdk 17"),
        ("""echo 'Exception in thread "main" no space'; exec sleep 100""", "did not start: no space"),
        ("echo busy; exec sleep 100", "did not start: its JVM has not answered for 1 s: busy"),
    ],
)
def test_a_jvm_that_never_answers_is_not_waited_for(
    script: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is ended, is told of meanwhile, and what it prints is not hudictl's output."""
    monkeypatch.setattr(jvm, "_ANSWER_SECONDS", 1 if "busy" in script else 60)
    monkeypatch.setattr(spark, "_SILENT_SECONDS", 0.05)
    engine = starts_with(script, tmp_path, monkeypatch)
    with pytest.raises(EngineFailed, match=said):
        engine.ready()
    assert engine._jvm is not None
    assert engine._jvm.returncode is not None
    engine.close()
    assert capfd.readouterr() == ("", "")
    assert "Spark has not started yet" in caplog.text


@pytest.mark.parametrize("begun", [False, True])
def test_closing_ends_a_jvm_that_has_not_answered(begun: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would live on. It may begin only then."""
    engine = starts_with("exec sleep 100", tmp_path, monkeypatch)
    if not begun:
        monkeypatch.setattr(spark, "java_home", lambda version: time.sleep(0.5))
    engine.start()
    until = time.monotonic() + 30
    while begun and engine._jvm is None and time.monotonic() < until:
        time.sleep(0.01)
    engine.close()
    assert engine._jvm is not None
    assert not psutil.pid_exists(engine._jvm.pid)


def test_a_full_disk_is_told_as_such_before_a_jvm_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On it, a JVM could say neither its port nor why it fails. Nor is it a file of the table that is not found."""
    full = OSError(errno.ENOSPC, "No space left on device")
    none = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")
    engine = starts_with("exec sleep 100", tmp_path, monkeypatch)
    monkeypatch.setattr(spark, "_package_archive", raising(full))
    with pytest.raises(EngineFailed, match=r"did not start: .*No space left") as caught:
        engine.ready()
    assert engine._jvm is None
    engine.close()
    monkeypatch.setattr(tempfile, "mkdtemp", raising(none))
    with pytest.raises(EngineFailed, match=r"did not start: .*No usable temporary directory") as second:
        SparkEngine("local")
    assert {caught.value.hint, second.value.hint} == {
        "make room for temporary files, or name a folder by TMPDIR and JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=FOLDER, "
        "or use --engine local"
    }


@pytest.mark.parametrize("code", [None, 1])
def test_a_jvm_that_has_ended_is_not_used_again(code: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark keeps it, with its context: no command after it would find a Spark in this process."""
    from pyspark import SparkContext

    names = ("_gateway", "_jvm", "_active_spark_context")
    process = SimpleNamespace(poll=lambda: code)
    for name in names:
        monkeypatch.setattr(SparkContext, name, SimpleNamespace(proc=process))
    forget_ended()
    assert [getattr(SparkContext, name) is None for name in names] == [code is not None] * 3


def raising(error: Exception) -> Callable[..., None]:
    def fail(*_: object, **options: object) -> None:
        raise error

    return fail
