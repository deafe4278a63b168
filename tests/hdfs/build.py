"""What the servers of these tests are made of: jars with all that they need, out of Maven, and compiled programs.

Both are made once, in the judge's cache folder.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.interop.judge import run

POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>hudictl</groupId>
  <artifactId>tests</artifactId>
  <version>1</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def libraries(*artifacts: str) -> Path:
    """A folder of jars, by group:name:version, and of all jars that they need."""
    _, name, release = artifacts[0].split(":")
    with _made(f"{name}-{release}") as (folder, partial):
        if partial:
            dependencies = "".join(DEPENDENCY.format(*artifact.split(":")) for artifact in artifacts)
            (partial / "pom.xml").write_text(POM.format(dependencies=dependencies))
            run(
                [
                    "mvn",
                    "-q",
                    "-B",
                    "-f",
                    f"{partial}/pom.xml",
                    "dependency:copy-dependencies",
                    f"-DoutputDirectory={partial}",
                ]
            )
    return folder


def compiled(source: Path, classpath: str) -> Path:
    """The folder of a program's classes, for what the source says now."""
    with _made(f"{source.stem}-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}") as (folder, partial):
        if partial:
            run(["javac", "-nowarn", "-cp", classpath, "-d", str(partial), str(source)])
    return folder


@contextmanager
def _made(name: str) -> Iterator[tuple[Path, Path | None]]:
    """A folder in the cache; where it is not there, also the one that becomes it when the body has filled it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hudictl-judge" / "hdfs"
    cache.mkdir(parents=True, exist_ok=True)
    folder, partial = cache / name, cache / "partial"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # pytest-xdist starts several at once
        if folder.exists():
            yield folder, None
        else:
            shutil.rmtree(partial, ignore_errors=True)  # what an interrupted attempt left
            partial.mkdir()
            yield folder, partial
            partial.rename(folder)
