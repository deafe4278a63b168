"""The JVM of Spark: it is told the same by hudictl as by Spark's own launcher, or that launcher starts it."""

import os
import shutil
import subprocess
from pathlib import Path

import pyspark
import pytest

from hudictl.engine.java import java_command
from hudictl.engine.jvm import _address, _command, _environment, _is_plain, _memory, _reason, _set_by_host

HOME = Path(pyspark.__file__).parent
SETTINGS = {
    "spark.app.name": "hudictl",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError",
    "spark.driver.memory": "3g",
}


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this host."""
    for name in [name for name in os.environ if name.startswith(("SPARK_", "PYSPARK_", "HADOOP_"))]:
        monkeypatch.delenv(name)


@pytest.mark.skipif(not pyspark.__version__.startswith("3."), reason="Spark's own launcher starts other releases")
@pytest.mark.skipif(shutil.which("java") is None and not os.environ.get("JAVA_HOME"), reason="Spark needs a Java")
def test_the_command_is_that_of_sparks_launcher() -> None:
    """But for the folder of settings, which a package from PyPI does not have."""
    java = java_command() or ""
    made = _command(java, HOME / "jars", SETTINGS)
    asked = [option for key, value in SETTINGS.items() for option in ("--conf", f"{key}={value}")]
    launcher = [java, "-cp", f"{HOME}/jars/*", "org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"]
    done = subprocess.run(
        [*launcher, *asked, "pyspark-shell"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **_environment(HOME)},
        timeout=60,
    )
    said = done.stdout.strip("\n").split("\0")
    expected = said[said.index("-cp") :]
    expected[1] = expected[1].removeprefix(f"{HOME}/conf:")
    expected = [word for word in expected if word.strip()]
    begin = expected.index("--conf")
    assert made[1:][:begin] == expected[:begin]
    # It sorts the settings.
    assert sorted(made[1:][begin:]) == sorted(expected[begin:])


@pytest.mark.parametrize("variable", ["SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT"])
def test_what_a_host_says_goes_through_the_launcher(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Hadoop's settings do not matter: no file is read or written by the JVM.
    monkeypatch.setenv("HADOOP_CONF_DIR", "x")
    assert _is_plain({}, HOME)
    monkeypatch.setenv(variable, "x")
    assert not _is_plain({}, HOME)


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://host:7077", "yarn", "k8s://host"])
def test_a_cluster_goes_through_the_launcher(master: str) -> None:
    """Executors get some of its settings from the environment that it makes: without, they never come."""
    assert not _is_plain({"spark.master": master}, HOME)
    assert _is_plain({"spark.master": "local[2]"}, HOME)


@pytest.mark.parametrize("variable", ["SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME"])
def test_the_workers_of_a_local_cluster_listen_on_loopback(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    local = {"spark.master": "local-cluster[2,1,1024]"}
    assert _address(local) == {"SPARK_LOCAL_IP": "127.0.0.1"}
    # Of one JVM, settings say it; executors elsewhere have to reach their driver; the operator knows better.
    assert [_address({"spark.master": other}) for other in ("local[2]", "spark://h:7077", "yarn")] == [{}, {}, {}]
    monkeypatch.setenv(variable, "10.0.0.1")
    assert _address(local) == {}


@pytest.mark.parametrize(
    ("setting", "plain"),
    [
        ("spark.driver.memory", True),
        ("spark.driver.host", True),
        ("spark.executor.extraJavaOptions", True),
        ("spark.driver.extraJavaOptions", False),
        ("spark.driver.extraClassPath", False),
        ("spark.driver.defaultJavaOptions", False),
        ("spark.submit.deployMode", False),
        ("spark.remote", False),
    ],
)
def test_settings_that_the_launcher_reads_go_through_it(setting: str, plain: bool) -> None:
    assert _is_plain({setting: "x"}, HOME) == plain


def test_another_layout_goes_through_the_launcher(tmp_path: Path) -> None:
    assert not _is_plain({}, tmp_path)
    (tmp_path / "jars").mkdir()
    assert _is_plain({}, tmp_path)
    (tmp_path / "conf").mkdir()
    assert not _is_plain({}, tmp_path)


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
