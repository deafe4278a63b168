"""Kerberos for the HDFS of these tests: Hadoop's small server, a realm with the services and users, and their keys."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.hdfs.build import compiled, libraries
from tests.hdfs.cluster import FLAGS, NO_SETTINGS, Hdfs, serving, start

ARTIFACT = "org.apache.hadoop:hadoop-minikdc:3.3.4"
SOURCE = Path(__file__).with_name("Kdc.java")
REALM = "LAKE.TEST"
SUPERUSER, WEB = f"hdfs/localhost@{REALM}", f"HTTP/localhost@{REALM}"
CONFIG = """[libdefaults]
default_realm = {realm}
udp_preference_limit = 1
dns_canonicalize_hostname = false
rdns = false
[realms]
{realm} = {{
  kdc = localhost:{port}
}}
"""


@dataclass(frozen=True)
class Realm:
    """A running realm: ``config`` is its krb5.conf, ``keytab`` has the keys of all its principals."""

    config: Path
    keytab: Path

    def log_in(self, user: str, cache: Path) -> dict[str, str]:
        """Gets a ticket, as kinit does; the variables of the environment by which a process uses it."""
        environment = {"KRB5_CONFIG": str(self.config), "KRB5CCNAME": f"FILE:{cache}"}
        command = ["kinit", "-k", "-t", str(self.keytab), f"{user}@{REALM}"]
        subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True)
        return environment

    def settings(self) -> dict[str, str]:
        """What name and data nodes need to be set."""
        keytab = str(self.keytab)
        return self.web_settings() | {
            "hadoop.security.authentication": "kerberos",
            "hadoop.security.authorization": "true",
            "dfs.namenode.kerberos.principal": SUPERUSER,
            "dfs.namenode.keytab.file": keytab,
            "dfs.datanode.kerberos.principal": SUPERUSER,
            "dfs.datanode.keytab.file": keytab,
            "dfs.web.authentication.kerberos.principal": WEB,
            "dfs.web.authentication.kerberos.keytab": keytab,
            "dfs.block.access.token.enable": "true",
            "ignore.secure.ports.for.testing": "true",
        }

    def web_settings(self) -> dict[str, str]:
        """What any web server of Hadoop needs to be set, so that it asks for tickets."""
        return {
            "hadoop.http.authentication.type": "kerberos",
            "hadoop.http.authentication.kerberos.principal": WEB,
            "hadoop.http.authentication.kerberos.keytab": str(self.keytab),
        }

    def gateway_settings(self) -> dict[str, str]:
        """What HttpFS needs to be set, to act as the superuser."""
        return self.web_settings() | {
            "httpfs.hadoop.authentication.type": "kerberos",
            "httpfs.hadoop.authentication.kerberos.principal": SUPERUSER,
            "httpfs.hadoop.authentication.kerberos.keytab": str(self.keytab),
        }


@contextmanager
def start_realm(folder: Path, *users: str) -> Iterator[Realm]:
    """A realm of users, and of HDFS's services, stopped at the end."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    realm = Realm(folder / "krb5.conf", folder / "keytab")
    jars = f"{libraries(ARTIFACT)}/*"
    principals = [principal.partition("@")[0] for principal in (SUPERUSER, WEB, *users)]
    command = [
        "java",
        *FLAGS,
        f"-Djava.io.tmpdir={folder}",
        "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
        "-cp",
        f"{compiled(SOURCE, jars)}{os.pathsep}{jars}",
        "Kdc",
        str(folder / "data"),
        REALM,
        str(realm.keytab),
        *principals,
    ]
    with serving(command, folder / "log") as (_, port):
        realm.config.write_text(CONFIG.format(realm=REALM, port=port))
        yield realm


@contextmanager
def start_secure(
    folder: Path, realm: Realm, *, name_nodes: int = 1, settings: Mapping[str, str] = NO_SETTINGS
) -> Iterator[Hdfs]:
    """As ``start``, with Kerberos: its superuser is called hdfs, and web clients must call it localhost."""
    flags = (f"-Djava.security.krb5.conf={realm.config}",)
    secure = realm.settings() | dict(settings)
    with start(folder, name_nodes=name_nodes, settings=secure, flags=flags) as hdfs:
        yield hdfs
