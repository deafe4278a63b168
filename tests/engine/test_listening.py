"""On which addresses a Spark of this host listens: whoever reaches its ports can run code as the operator."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
import psutil
from hudictl.engine.spark import SparkEngine
engine = SparkEngine(sys.argv[1], dict(entry.split("=") for entry in sys.argv[2:]))
try:
    engine.map("x", str, [1, 2, 3])
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            for entry in process.net_connections(kind="inet"):
                if entry.status == psutil.CONN_LISTEN:
                    print(process.name(), entry.laddr.ip.removeprefix("::ffff:"))
        except psutil.Error:
            pass
finally:
    engine.close()
"""

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(shutil.which("java") is None and not os.environ.get("JAVA_HOME"), reason="Spark needs a Java"),
]


def listening(*arguments: str, **variables: str) -> set[tuple[str, str]]:
    """The programs of an engine that listen, with their addresses."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
        env={**bare, "PYSPARK_PYTHON": sys.executable, **variables},
    )
    assert done.returncode == 0, done.stderr
    return {(program[:4], address) for program, address in map(str.split, done.stdout.splitlines())}


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[1,1,1024]"])
def test_nobody_on_another_host_reaches_it(master: str) -> None:
    found = listening(master)
    assert "java" in {program for program, _ in found}
    assert {address for _, address in found} == {"127.0.0.1"}


@pytest.mark.full
def test_an_address_of_the_operator_is_used() -> None:
    assert ("java", "127.0.0.2") in listening("local[1]", "spark.driver.bindAddress=127.0.0.2")
    assert ("java", "127.0.0.2") in listening("local[1]", "spark.driver.host=127.0.0.2")
    assert ("java", "127.0.0.2") in listening("local[1]", SPARK_LOCAL_IP="127.0.0.2")
