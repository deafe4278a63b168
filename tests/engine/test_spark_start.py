"""A Spark that does not start; each in a process of its own, for a JVM's settings stay with its process."""

import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from hudictl.engine.spark import SparkEngine
from hudictl.errors import EngineFailed
engine = SparkEngine(sys.argv[1], dict(a.split("=") for a in sys.argv[2:]))
try:
    engine.map("x", str, [1])
except EngineFailed as error:
    print(repr((error.exit_code, error.message, error.hint)))
finally:
    engine.close()
"""


@pytest.mark.skipif(shutil.which("java") is None and not os.environ.get("JAVA_HOME"), reason="Spark needs a Java")
@pytest.mark.cluster
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense://x"], "Master must"),
        (["local[x]"], "Could not parse Master URL"),
        (["spark://127.0.0.1:1"], "does not answer (127.0.0.1:1: "),
        (["local", "spark.driver.memory=1x"], "Invalid maximum heap size"),
    ],
)
def test_bad_settings(arguments: list[str], said: str) -> None:
    """Exit code 16, the reason (not the last line of a Java stack), and the way out."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=300)
    code, message, hint = eval(done.stdout.strip().splitlines()[-1])
    assert code == 16
    assert said in message
    assert "\n" not in message
    assert "--engine local" in hint
