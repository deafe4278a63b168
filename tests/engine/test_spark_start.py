"""A Spark that does not start; each in a process of its own, for a JVM's settings stay with its process."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

import pytest

PROGRAM = """
import sys
from hudictl.engine.spark import SparkEngine
from hudictl.errors import EngineFailed
engine = SparkEngine(sys.argv[1], dict(a.split("=") for a in sys.argv[2:]))
try:
    BEFORE
    engine.map("x", TASK, [1])
except EngineFailed as error:
    print(repr((error.exit_code, error.message, error.hint)))
finally:
    engine.close()
"""

NEEDS_JAVA = pytest.mark.skipif(
    shutil.which("java") is None and not os.environ.get("JAVA_HOME"), reason="Spark needs a Java"
)


@NEEDS_JAVA
@pytest.mark.cluster
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense://x"], "Master must"),
        (["local[x]"], "Could not parse Master URL"),
        (["spark://127.0.0.1:1"], "does not answer (127.0.0.1:1: "),
        (["local", "spark.driver.memory=1x"], "Invalid maximum heap size"),
        (["local", "spark.local.dir=/dev/null"], "Failed to create directory /dev/null/"),
    ],
)
def test_bad_settings(arguments: list[str], said: str) -> None:
    """Exit code 16, the reason (not the last line of a Java stack), and the way out."""
    message, hint, _ = failed("str", arguments)
    assert said in message
    assert "--engine local" in hint


@NEEDS_JAVA
@pytest.mark.cluster
def test_a_jvm_without_memory_left_ends_the_command_in_one_line() -> None:
    """The JVM holds what tasks return, too. Neither its end nor what then fails as well is a bug of hudictl."""
    message, hint, errors = failed("lambda size: bytes(size * 6 * 10**8)", ["local", "spark.driver.memory=512m"])
    assert message == "Spark failed in 'x': Terminating due to java.lang.OutOfMemoryError: Java heap space"
    assert "run the same command again" in hint
    assert "Traceback" not in errors


def failed(task: str, arguments: Sequence[str], before: str = "") -> tuple[str, str, str]:
    """The message, the hint and the standard error of a command that ends with 16."""
    program = [sys.executable, "-c", PROGRAM.replace("TASK", task).replace("BEFORE", before or "pass"), *arguments]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300)
    (line,) = done.stdout.splitlines()  # and nothing of the JVM
    code, message, hint = eval(line)
    assert code == 16
    assert "\n" not in message
    return message, hint, done.stderr


@NEEDS_JAVA
@pytest.mark.cluster
def test_hidden_settings_reach_spark_but_not_the_command_line_of_its_jvm() -> None:
    """Every user of a host can read the command lines of its processes."""
    program = """
import psutil
from hudictl.engine.spark import SparkEngine
conf = {"spark.x.secret": "hush-hush", "spark.x.referred": "hush-too", "spark.x.other": "seen"}
engine = SparkEngine("local[1]", conf, hidden=frozenset({"spark.x.referred"}))
try:
    engine.map("x", str, [1])
    conf = engine._context.getConf()
    alive = [child for child in psutil.Process().children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE]
    lines = [" ".join(child.cmdline()) for child in alive]
    print(conf.get("spark.x.secret"), conf.get("spark.x.referred"))
    print(any("hush" in line for line in lines), any("seen" in line for line in lines))
finally:
    engine.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["hush-hush", "hush-too", "False", "True"], done.stderr


@NEEDS_JAVA
@pytest.mark.cluster
def test_a_wrong_python_is_found_before_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan does not wait for the workers; what is called once more just before the first change does."""
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python")
    message, hint, _ = failed("str", ["local"], before="engine.ready(); engine.ready()")
    assert message == "Spark's executors cannot run the Python /nowhere/python"
    assert "PYSPARK_PYTHON" in hint
