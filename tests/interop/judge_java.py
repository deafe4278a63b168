"""Java values in Python, for ``judge_server.py`` and its parts: so without hudictl, too."""

import os
from functools import cache
from typing import Any

from py4j.java_gateway import JavaPackage
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession


def java_list(values: Any) -> list[Any]:
    """A Java list, set or stream as a Python list of its elements."""
    if has_method(values, "collect"):
        values = values.collect(hudi().java.util.stream.Collectors.toList())
    return list(values)


def has_method(thing: Any, method: str) -> bool:
    """Whether a Java object has a public method: py4j makes up any attribute that is asked for."""
    return any(found.getName() == method for found in thing.getClass().getMethods())


def java_map(values: Any) -> dict[str, str]:
    """A Java map as a dict of strings."""
    return {str(entry.getKey()): str(entry.getValue()) for entry in values.entrySet()}


@cache
def hudi() -> Any:
    """The JVM's packages: ``hudi().org.apache.hudi...``."""
    return _Names(SparkSession.active()._jvm)


class _Names:
    """Packages and classes, each asked for once: for each part of a name py4j looks into all jars."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._found, name)
        found = _Names(found) if isinstance(found, JavaPackage) else found
        setattr(self, name, found)
        return found


def storage_conf() -> Any:
    """Hadoop's configuration, as Hudi wants it."""
    return hudi().org.apache.hudi.storage.hadoop.HadoopStorageConfiguration(
        SparkSession.active()._jsc.hadoopConfiguration()
    )


def engine() -> Any:
    """Hudi's Spark engine context."""
    return hudi().org.apache.hudi.client.common.HoodieSparkEngineContext(SparkSession.active()._jsc)


def storage(path: str) -> Any:
    """Hudi's access to the files of a path."""
    package = hudi().org.apache.hudi.storage
    return package.HoodieStorageUtils.getStorage(package.StoragePath(uri(path)), storage_conf())


def release() -> tuple[int, ...]:
    """Hudi's release, from the name of its jar, the first one."""
    jar = SparkSession.active().conf.get("spark.driver.extraClassPath").partition(os.pathsep)[0]
    return tuple(int(part) for part in jar.removesuffix(".jar").rpartition("-")[2].split("."))


def meta_client(path: str) -> Any:
    """A table as it is now on disk."""
    builder = hudi().org.apache.hudi.common.table.HoodieTableMetaClient.builder()
    return builder.setConf(storage_conf()).setBasePath(uri(path)).build()


def uri(path: str) -> str:
    """A local path with its scheme, not encoded: Hadoop's paths are not URLs."""
    return path if "://" in path else f"file://{path}"


def error_chain(error: BaseException) -> list[str]:
    """The exceptions of a failure as "Class: message", Java's as Java has them, outermost first."""
    thrown = error._origin if isinstance(error, CapturedException) else getattr(error, "java_exception", None)
    if thrown is None:
        return [f"{type(error).__name__}: {error}"]
    chain = []
    while thrown is not None and len(chain) < 20:
        chain.append(f"{thrown.getClass().getSimpleName()}: {thrown.getMessage()}")
        thrown = thrown.getCause()
    return chain
