"""Hudi's own DynamoDB lock provider, of the newest release whose hudi-aws is on Maven Central, and what it needs."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.dynamodb import CREDENTIALS, REGION
from tests.hdfs.build import compiled, libraries
from tests.interop.judge import BUNDLE, prepare, server_environment

RELEASE = "0.15.0"
HUDI_AWS = f"org.apache.hudi:hudi-aws:{RELEASE}"
# The versions that it was built with.
LIBRARIES = ("software.amazon.awssdk:dynamodb:2.25.69", "com.amazonaws:dynamodb-lock-client:1.2.0")
SOURCE = Path(__file__).with_name("DynamoContender.java")
ENVIRONMENT = CREDENTIALS | {"AWS_REGION": REGION}


@dataclass(frozen=True)
class Contender:
    """A process with Hudi's provider."""

    process: subprocess.Popen[str]
    log: Path

    def use(self, settings: Mapping[str, str]) -> None:
        """From now on with a provider of these settings."""
        answer = self._ask("\t".join(["use", *(f"{key}={value}" for key, value in settings.items())]))
        assert answer == "ready", self.log.read_text(errors="replace")[-4000:]

    def lock(self, wait_ms: int) -> bool:
        """As a writer does; AWS's client adds the holder's lease to the waiting time."""
        return self._ask(str(wait_ms)) == "held"

    def unlock(self) -> None:
        assert self._ask("unlock") == "free"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _ask(self, order: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


def aws_jars() -> list[Path]:
    """hudi-aws, with the lock client and the SDK of AWS."""
    _, jars = prepare(HUDI_AWS)
    return [*jars, *sorted(libraries(*LIBRARIES).glob("*.jar"))]


@contextmanager
def contender(log: Path) -> Iterator[Contender]:
    """A process that is gone at the end; ``log``: what it says of itself."""
    python, (bundle,) = prepare(f"{BUNDLE}:{RELEASE}")
    (spark,) = python.parent.parent.glob("lib/python*/site-packages/pyspark/jars")
    jars = os.pathsep.join([str(bundle), f"{spark}/*", *map(str, aws_jars())])
    command = ["java", "-Xmx256m", "-cp", f"{compiled(SOURCE, jars)}{os.pathsep}{jars}", SOURCE.stem]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=server_environment() | ENVIRONMENT,
        )
    try:
        yield Contender(process, log)
    finally:
        process.kill()
        process.wait()
