"""The settings with which the JVM of Spark starts."""

import os
from pathlib import Path

import pytest

from hudictl.engine.jvm import _address, _memory, _reason, _set_by_host


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
