"""HttpFS, Hadoop's gateway with WebHDFS's interface, in front of the HDFS of these tests.

Its release is another than HDFS's: of Hadoop 3.3.4 Maven's repository has no HttpFS.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.hdfs.build import compiled, libraries
from tests.hdfs.cluster import FLAGS, NO_SETTINGS, Hdfs, serving, site
from tests.hdfs.kerberos import Realm

RELEASE = "3.3.6"
ARTIFACTS = ("org.apache.hadoop:hadoop-hdfs-httpfs", "org.apache.hadoop:hadoop-hdfs-client")
SOURCE = Path(__file__).with_name("HttpFs.java")


@contextmanager
def start_httpfs(
    hdfs: Hdfs, folder: Path, *, realm: Realm | None = None, settings: Mapping[str, str] = NO_SETTINGS
) -> Iterator[str]:
    """A gateway, stopped at the end; yields its host and port. It keeps all it writes in a folder.

    With a realm it is HDFS's superuser, and whoever asks it needs a ticket.
    """
    for part in ("conf", "log", "temp"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    own = {
        "httpfs.http.hostname": "localhost",
        "httpfs.http.port": "0",
        "httpfs.hadoop.config.dir": str(hdfs.conf),
        "hadoop.tmp.dir": str(folder / "temp"),
    }
    site(folder / "conf" / "httpfs-site.xml", own | (realm.gateway_settings() if realm else {}) | dict(settings))
    jars = f"{libraries(*(f'{artifact}:{RELEASE}' for artifact in ARTIFACTS))}/*"
    command = [
        "java",
        *FLAGS,
        *([f"-Djava.security.krb5.conf={realm.config}"] if realm else []),
        f"-Djava.io.tmpdir={folder / 'temp'}",
        f"-Dhttpfs.home.dir={folder}",
        f"-Dhttpfs.config.dir={folder / 'conf'}",
        f"-Dhttpfs.log.dir={folder / 'log'}",
        f"-Dhttpfs.temp.dir={folder / 'temp'}",
        "-cp",
        os.pathsep.join([str(folder / "conf"), str(compiled(SOURCE, jars)), jars]),
        "HttpFs",
    ]
    with serving(command, folder / "log" / "stderr") as (_, port):
        yield f"localhost:{port}"
