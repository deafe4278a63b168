"""What a cluster is asked before work begins, and what its failures mean; the cluster itself is in tests/cluster."""

import socket
import sys

import pytest

from hudictl.engine import cluster
from hudictl.engine.open import open_engine
from hudictl.engine.spark import _executors_python
from hudictl.errors import EngineFailed, Unsupported

JOB = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent \
failure: Lost task 0.3 in stage 0.0 (TID 3) (127.0.0.1 executor 0): """
TRACEBACK = """org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/spark/python/lib/pyspark.zip/pyspark/worker.py", line 1100, in main
    process()
%s
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:572)
"""


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        (
            'java.io.IOException: Cannot run program "/nowhere/python": error=2, No such file or directory\n\tat x',
            "Spark's executors cannot run the Python /nowhere/python",
            "PYSPARK_PYTHON",
        ),
        (
            TRACEBACK
            % "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker "
            "has different version (3, 10) than that in driver 3.11, PySpark cannot run with different minor versions.",
            "Spark's executors run Python 3.10, and hudictl Python 3.11: Spark needs the same on both",
            "spark.pyspark.python",
        ),
        (
            TRACEBACK
            % "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker "
            "has different version: 3.14 than that in driver: 3.13, PySpark cannot run with different minor versions.",
            "Spark's executors run Python 3.14, and hudictl Python 3.13: Spark needs the same on both",
            "spark.pyspark.python",
        ),
        (
            "org.apache.spark.SparkException: \nError from python worker:\n  Traceback (most recent call last):\n"
            '    File "daemon.py", line 1\n  ImportError: libffi.so.8\nPYTHONPATH was:\n  /spark/python/lib\n',
            "the Python of Spark's executors does not start: ImportError: libffi.so.8",
            "PYSPARK_PYTHON",
        ),
        (
            f"{JOB}org.apache.spark.SparkException: EOFException occurred while reading the port number from "
            "pyspark.daemon's stdout and terminated with code: 1.\n\tat x",
            "the Python of Spark's executors does not start: EOFException occurred while reading the port number from "
            "pyspark.daemon's stdout and terminated with code: 1",
            "PYSPARK_PYTHON",
        ),
        (
            f"{JOB}org.apache.spark.SparkException: \nBad data in pyspark.daemon's standard output. Invalid port "
            "number:\n  1214606444 (0x4865)\nPython command to execute the daemon was:\n  /bin/echo -m x\n",
            "the Python of Spark's executors does not start: Bad data in pyspark.daemon's standard output. Invalid "
            "port number",
            "PYSPARK_PYTHON",
        ),
        (
            TRACEBACK % "ModuleNotFoundError: No module named 'fsspec'\n",
            "the Python of Spark's executors has no module fsspec",
            "install it there",
        ),
        (
            "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.",
            "Spark ended the application before 'delete files' was done: its master rejected or dropped it",
            "check the master",
        ),
        (
            "org.apache.spark.SparkException: Job 3 cancelled because SparkContext was shut down",
            "Spark ended the application before 'delete files' was done: its master rejected or dropped it",
            "check the master",
        ),
        (
            TRACEBACK % "PermissionError: [Errno 13] Permission denied: '/tmp/spark'\n",
            "Spark failed in 'delete files': PermissionError: [Errno 13] Permission denied: '/tmp/spark'",
            "run the same command again",
        ),
    ],
)
def test_what_a_failed_job_comes_to(said: str, message: str, hint: str) -> None:
    """As Spark 3.5.9 says it."""
    found = cluster.failure("delete files", RuntimeError(JOB + said))
    assert (found.exit_code, found.message) == (16, message)
    assert hint in found.hint


def test_another_error_keeps_its_first_line() -> None:
    found = cluster.failure("list", RuntimeError(JOB + "ExecutorLostFailure (executor 0 exited)\nDriver stacktrace:"))
    assert found.message.startswith("Spark failed in 'list': org.apache.spark.SparkException: Job aborted")
    assert found.message.endswith("executor 0 exited)")
    assert cluster.failure("list", ValueError()).message == "Spark failed in 'list': ValueError"


def test_the_last_cause_is_told() -> None:
    """As Spark 3.5.9 says that Kubernetes does not answer; a cause that is told already is not told again."""
    said = "An error occurred while calling x.\n: io.k8s.ClientException: An error has occurred.\n\tat io.k8s.A\n"
    caused = (
        "Caused by: java.io.IOException: gone\n\tat java.c(D.java:2)\nCaused by: java.net.ConnectException: refused"
    )
    assert cluster.first_line(RuntimeError(said)) == "io.k8s.ClientException: An error has occurred."
    told = "io.k8s.ClientException: An error has occurred. (java.net.ConnectException: refused)"
    assert cluster.first_line(RuntimeError(said + caused)) == told
    assert cluster.first_line(RuntimeError(f"{said}Caused by: An error has occurred.")).count("occurred") == 1


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[4,2]"])
def test_one_jvm(master: str) -> None:
    cluster.refuse_cluster(master)


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://host:7077", "yarn", "k8s://https://host:443"])
def test_a_cluster_is_refused_where_files_are_this_hosts(master: str) -> None:
    """By option and by configuration; before Spark is started."""
    for asked, conf in ((master, {}), (None, {"spark.master": master})):
        with pytest.raises(Unsupported, match="other hosts") as caught:
            open_engine("spark", asked, conf, one_jvm=True)
        assert caught.value.fields == {"master": master}
    open_engine("spark", master).close()


ADDRESS = "sc://spark.example.com:15002/"
REMOTE = f"{ADDRESS};token=hush-hush"


@pytest.mark.parametrize(
    ("master", "conf", "environment"),
    [
        (REMOTE, {}, {}),
        (None, {"spark.master": REMOTE}, {}),
        (None, {"spark.remote": REMOTE}, {}),
        ("local[*]", {"spark.remote": REMOTE}, {"SPARK_REMOTE": "local"}),
        (None, {}, {"SPARK_REMOTE": REMOTE}),
        ("local[*]", {}, {"SPARK_REMOTE": REMOTE, "SPARK_CONNECT_MODE_ENABLED": "1"}),
    ],
)
def test_spark_connect_is_refused(
    monkeypatch: pytest.MonkeyPatch, master: str | None, conf: dict[str, str], environment: dict[str, str]
) -> None:
    """However it is asked for, before Spark is started; where it is, but not the token that may follow."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Unsupported) as caught:
        open_engine("spark", master, conf, one_jvm=True)
    assert caught.value.message == f"Spark Connect ({ADDRESS}) has no RDDs, which the Spark engine needs"
    assert caught.value.hint is not None
    assert ("in another process" in caught.value.hint) == ("SPARK_CONNECT_MODE_ENABLED" in environment)
    assert caught.value.fields == {"master": ADDRESS}
    open_engine("local").close()


def test_what_a_notebook_has_is_refused_by_its_mode() -> None:
    """Databricks' serverless notebooks have an address of their own kind, or none."""
    for remote, said in (("unix:///databricks/sparkconnect/grpc.sock", "unix:///d"), ("", "this process's session")):
        with pytest.raises(Unsupported, match=f"\\({said}"):
            cluster.refuse_connect(None, {}, {"SPARK_REMOTE": remote, "SPARK_CONNECT_MODE_ENABLED": "1"})


@pytest.mark.parametrize(
    ("master", "environment"),
    [
        (None, {}),
        ("local[*]", {"SPARK_REMOTE": REMOTE}),
        (None, {"SPARK_REMOTE": "local[*]"}),
        (None, {"SPARK_REMOTE": "local", "SPARK_CONNECT_MODE_ENABLED": "1", "SPARK_LOCAL_REMOTE": "1"}),
    ],
)
def test_a_master_with_rdds_is_not(master: str | None, environment: dict[str, str]) -> None:
    """A server of Spark Connect in this process has a context, too."""
    cluster.refuse_connect(master, {}, environment)


def test_a_master_that_answers() -> None:
    """One of several is enough: the others stand by."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        cluster.check_master(f"spark://127.0.0.1:{port}")
        cluster.check_master(f"spark://127.0.0.1:1,127.0.0.1:{port}")


@pytest.mark.parametrize(
    "master", ["spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2", "spark://127.0.0.1:99999"]
)
def test_a_master_that_does_not_answer(master: str) -> None:
    """Each of its addresses is named with its reason."""
    with pytest.raises(EngineFailed, match="does not answer") as caught:
        cluster.check_master(master)
    assert caught.value.exit_code == 16
    assert caught.value.message.count("127.0.0.1:") == 2 * len(master.split(","))


@pytest.mark.parametrize("master", ["local[*]", "yarn", "spark://host", "spark://host:port"])
def test_other_masters_are_left_to_spark(master: str) -> None:
    cluster.check_master(master)


def test_a_look_that_fails_is_an_answer_too() -> None:
    assert cluster.look_from_here(lambda: 7) == (socket.gethostname(), 7)
    assert cluster.look_from_here(lambda: 1 / 0) == (socket.gethostname(), "division by zero")


def test_the_executors_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator's, setting before environment; else the driver's own in one JVM, Spark's default on a cluster."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert _executors_python({}, "local[*]") == sys.executable
    assert _executors_python({}, "yarn") == "python3"
    monkeypatch.setenv("PYSPARK_PYTHON", "/env/python")
    for master in ("local[*]", "yarn"):
        assert _executors_python({}, master) == "/env/python"
        assert _executors_python({"spark.pyspark.python": "/conf/python"}, master) == "/conf/python"
