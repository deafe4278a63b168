"""How the real Hudi reaches the servers of object stores: Hadoop's connectors, out of Maven, and their settings.

Hadoop is that of PySpark 3.5.
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.stores import azurite, versity
from tests.stores.server import Server

EMULATOR_PORT = 10000
"""Where Hadoop looks for an emulator of Azure. It is no setting."""
_REPOSITORY = Path.home() / ".m2" / "repository"
_JARS: Mapping[str, Sequence[str]] = {
    "versitygw": ("org.apache.hadoop:hadoop-aws:3.3.4", "com.amazonaws:aws-java-sdk-bundle:1.12.262"),
    "fake-gcs-server": ("com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26:jar:shaded",),
    "azurite": (
        *("org.apache.hadoop:hadoop-azure:3.3.4", "com.microsoft.azure:azure-storage:7.0.1"),
        *("org.eclipse.jetty:jetty-util-ajax:9.4.43.v20210629", "org.eclipse.jetty:jetty-util:9.4.43.v20210629"),
    ),
}


@dataclass(frozen=True)
class Connector:
    """The jars and Spark's settings for one server, and the URI of its bucket."""

    jars: Sequence[str]
    settings: Mapping[str, str]
    root: str


def connector(name: str, server: Server, endpoint: str) -> Connector:
    """The connector for a server, which answers at an endpoint; Maven fetches jars that this host does not have."""
    settings, root = {
        "versitygw": (s3a(endpoint), server.root),
        "fake-gcs-server": (gs(endpoint), server.root),
        # Azurite has no such endpoint as abfs needs. Of the older scheme Hadoop knows the emulator by its account.
        "azurite": (wasb(), f"wasb://{azurite.BUCKET}@{azurite.ACCOUNT}"),
    }[name]
    hadoop = {f"spark.hadoop.{key}": value for key, value in settings.items()}
    return Connector([jar(artifact) for artifact in _JARS[name]], hadoop, root)


def s3a(endpoint: str) -> dict[str, str]:
    """Hadoop's S3A."""
    return {
        "fs.s3a.endpoint": endpoint,
        "fs.s3a.access.key": versity.USER,
        "fs.s3a.secret.key": versity.SECRET,
        "fs.s3a.path.style.access": "true",
        # Files that were put into the gateway's folder have no tag.
        "fs.s3a.change.detection.version.required": "false",
        # The gateway refuses to delete the object of a folder with a file in it.
        "fs.s3a.directory.marker.retention": "keep",
    }


def gs(endpoint: str) -> dict[str, str]:
    """Google's connector."""
    return {
        "fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
        "fs.AbstractFileSystem.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFS",
        "fs.gs.storage.root.url": endpoint,
        "fs.gs.project.id": "tests",
        # Else it asks the host's cloud for an account.
        "fs.gs.auth.service.account.enable": "false",
        "fs.gs.auth.null.enable": "true",
    }


def wasb() -> dict[str, str]:
    """Hadoop's older connector to Azure."""
    return {"fs.azure.storage.emulator.account.name": azurite.ACCOUNT}


def jar(artifact: str) -> str:
    """The path of a jar, by group:name:version, and maybe its kind and classifier."""
    group, name, version, *kind = artifact.split(":")
    file = "-".join([name, version, *kind[1:]]) + ".jar"
    path = _REPOSITORY / group.replace(".", "/") / name / version / file
    if not path.exists():
        subprocess.run(["mvn", "-q", "dependency:get", "-Dtransitive=false", f"-Dartifact={artifact}"], check=True)
    return str(path)
