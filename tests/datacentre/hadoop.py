"""Hadoop on the hosts, each daemon a process of its own: HDFS with one name node or two, YARN, and Kerberos for both.

There is no tarball: a daemon is a class, and its class path is what Maven has.
"""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.datacentre.hosts import Datacentre, Process
from tests.datacentre.services import COMMAND_SECONDS, JAVA
from tests.hdfs.build import libraries
from tests.hdfs.cluster import site

PARTS = (
    *("hdfs", "common", "hdfs-client", "yarn-client", "yarn-server-resourcemanager", "yarn-server-nodemanager"),
    "yarn-server-timelineservice",  # the resource manager needs its classes, whether it is used or not
)
RELEASES = ("3.3.6", "3.4.3")
JARS = "/opt/hadoop"
CONF = "/etc/hadoop/conf"
DATA = "/var/lib/hadoop"
SERVICE = "lake"
EDGE = "edge"
REALM = "LAKE.TEST"
KEYTAB = "/etc/services.keytab"
TOKEN_SECONDS = 60
"""How long a token of HDFS is valid that nobody renews."""
FLAGS = ("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--add-opens=java.base/java.lang=ALL-UNNAMED")
HDFS = "org.apache.hadoop.hdfs"
NAME_NODE = f"{HDFS}.server.namenode.NameNode"
YARN = "org.apache.hadoop.yarn.server"
LOG = """log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""
KRB5 = f"""[libdefaults]
default_realm = {REALM}
dns_lookup_kdc = false
dns_canonicalize_hostname = false
rdns = false
renew_lifetime = 7d
[realms]
{REALM} = {{
  kdc = THE-KDC
}}
"""
KDC = f"""[realms]
{REALM} = {{
  database_name = /var/lib/krb5kdc/principal
  key_stash_file = /var/lib/krb5kdc/stash
  max_renewable_life = 7d
}}
"""
_KINDS = ("namenode", "datanode", "journalnode")
_WEB = {"principal": f"HTTP/_HOST@{REALM}", "keytab": KEYTAB}
URGENT = "urgent"
"""The queue with more rights."""
_SECURE = {
    "core-site": {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.http.authentication.type": "kerberos",
        **{f"hadoop.http.authentication.kerberos.{name}": value for name, value in _WEB.items()},
    },
    "hdfs-site": {
        "dfs.block.access.token.enable": "true",
        "dfs.namenode.delegation.token.renew-interval": str(1000 * TOKEN_SECONDS),
        # Else data nodes need a starter in C.
        "ignore.secure.ports.for.testing": "true",
        **{f"dfs.web.authentication.kerberos.{name}": value for name, value in _WEB.items()},
        **{f"dfs.{kind}.kerberos.principal": f"hdfs/_HOST@{REALM}" for kind in _KINDS},
        **{f"dfs.{kind}.kerberos.internal.spnego.principal": _WEB["principal"] for kind in _KINDS},
        **{f"dfs.{kind}.keytab.file": KEYTAB for kind in _KINDS},
    },
    "yarn-site": {
        **{f"yarn.{kind}.principal": f"yarn/_HOST@{REALM}" for kind in ("resourcemanager", "nodemanager")},
        **{f"yarn.{kind}.keytab": KEYTAB for kind in ("resourcemanager", "nodemanager")},
    },
}


@dataclass(frozen=True)
class Layout:
    """Which hosts have which daemons. With two ``names`` they are a service, with a journal on each of ``journals``.

    ``resources`` is YARN's resource manager, ``kdc`` Kerberos' server; empty: there is none. ``edge`` is a client.
    """

    names: Sequence[str]
    datas: Sequence[str]
    journals: Sequence[str] = ()
    resources: str = ""
    kdc: str = ""

    @property
    def uri(self) -> str:
        return f"hdfs://{SERVICE}" if len(self.names) > 1 else f"hdfs://{self.names[0]}:8020"

    @property
    def hosts(self) -> list[str]:
        found = [EDGE, *self.names, *self.datas, *self.journals, self.resources]
        return [host for host in dict.fromkeys(found) if host]


def jars(release: str = RELEASES[0]) -> dict[Path, str]:
    """The folder of Hadoop's hosts."""
    return {libraries(*(f"org.apache.hadoop:hadoop-{part}:{release}" for part in PARTS)): JARS}


def configure(datacentre: Datacentre, layout: Layout) -> None:
    """Writes the configuration to all hosts of the layout, the same to each."""
    hdfs = {
        "dfs.namenode.name.dir": f"{DATA}/name",
        "dfs.datanode.data.dir": f"{DATA}/data",
        "dfs.journalnode.edits.dir": f"{DATA}/journal",
        "dfs.replication": str(min(2, len(layout.datas))),
        "dfs.namenode.safemode.extension": "0",
        "dfs.heartbeat.interval": "1",
        "dfs.namenode.heartbeat.recheck-interval": "2000",
    } | (_two(layout) if len(layout.names) > 1 else {"dfs.namenode.http-address": f"{layout.names[0]}:9870"})
    yarn = {
        "yarn.resourcemanager.hostname": layout.resources,
        "yarn.nodemanager.resource.memory-mb": "2048",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.local-dirs": f"{DATA}/yarn",
        "yarn.nodemanager.log-dirs": "/var/log/hadoop",
        "yarn.scheduler.minimum-allocation-mb": "128",
    }
    # A queue may have all, until the other one wants its share back.
    preemption = "yarn.resourcemanager.monitor.capacity.preemption"
    yarn |= {
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
        **{f"{preemption}.{name}": "500" for name in ("monitoring_interval", "max_wait_before_kill")},
        **{f"{preemption}.{name}": "1" for name in ("total_preemption_per_round", "natural_termination_factor")},
    }
    capacity = {"root.queues": f"default,{URGENT}", "maximum-am-resource-percent": "0.5"}
    for queue, share in (("default", 40), (URGENT, 60)):
        capacity |= {f"root.{queue}.capacity": str(share), f"root.{queue}.user-limit-factor": "5"}
    # Else each call to a host that is cut off may take a quarter of an hour to fail.
    patience = {"client.ping": "false", "ping.interval": "10000", "client.connect.max.retries.on.timeouts": "1"}
    files = {
        "core-site": {"fs.defaultFS": layout.uri, **{f"ipc.{name}": value for name, value in patience.items()}},
        "hdfs-site": hdfs,
        "yarn-site": yarn,
        "capacity-scheduler": {f"yarn.scheduler.capacity.{name}": value for name, value in capacity.items()},
    }
    secure = _SECURE if layout.kdc else {}
    for host in layout.hosts:
        folder = datacentre.hosts[host].path(CONF)
        # The pages of the daemons are in no jar, but their folders have to be there.
        for page in ("hdfs", "datanode", "journal", "static"):
            (folder / "webapps" / page).mkdir(parents=True)
        for name, settings in files.items():
            site(folder / f"{name}.xml", settings | secure.get(name, {}))
        (folder / "log4j.properties").write_text(LOG)


def start_hdfs(datacentre: Datacentre, layout: Layout) -> None:
    """Starts an empty HDFS that can be written; the first of two name nodes is active."""
    for journal in [daemon(datacentre, host, f"{HDFS}.qjournal.server.JournalNode") for host in layout.journals]:
        datacentre.wait_for_port(journal, 8485, COMMAND_SECONDS)
    for host in layout.names:
        if layout.kdc:
            log_in(datacentre, host, f"hdfs/{host}", KEYTAB)
        how = "-format" if host == layout.names[0] else "-bootstrapStandby"
        run(datacentre, host, NAME_NODE, how, "-nonInteractive")
        start_name_node(datacentre, host)
    if len(layout.names) > 1:
        make_active(datacentre, layout, layout.names[0])
    for node in [daemon(datacentre, host, f"{HDFS}.server.datanode.DataNode") for host in layout.datas]:
        datacentre.wait_for_words(node, "successfully registered with NN", COMMAND_SECONDS, times=len(layout.names))


def start_name_node(datacentre: Datacentre, host: str) -> None:
    """Of two, it is not the active one."""
    running = daemon(datacentre, host, NAME_NODE)
    for port in (8020, 9870):
        datacentre.wait_for_port(running, port, COMMAND_SECONDS)


def start_yarn(datacentre: Datacentre, layout: Layout) -> None:
    """Starts a resource manager, and a node manager beside each data node."""
    manager = daemon(datacentre, layout.resources, f"{YARN}.resourcemanager.ResourceManager")
    datacentre.wait_for_port(manager, 8031, COMMAND_SECONDS)
    for node in [daemon(datacentre, host, f"{YARN}.nodemanager.NodeManager") for host in layout.datas]:
        datacentre.wait_for_words(node, "Registered with ResourceManager", COMMAND_SECONDS)


def preempted_mib(datacentre: Datacentre, layout: Layout) -> list[int]:
    """What YARN has taken back of each of its jobs."""
    address = f"http://{layout.resources}:8088/ws/v1/cluster/apps"
    program = f"import urllib.request; print(urllib.request.urlopen({address!r}).read().decode())"
    python = os.path.realpath(sys.executable)
    told = json.loads(datacentre.check(layout.resources, [python, "-c", program]))
    return [job["preemptedResourceMB"] for job in told["apps"]["app"]]


def make_active(datacentre: Datacentre, layout: Layout, host: str, *, instead_of: str = "") -> None:
    """Makes a name node active, by a failover where it is ``instead_of`` another."""
    how = ["-failover", _node(layout, instead_of)] if instead_of else ["-transitionToActive"]
    run(datacentre, host, f"{HDFS}.tools.DFSHAAdmin", *how, _node(layout, host))


def superuser(datacentre: Datacentre, layout: Layout, *words: str) -> str:
    """``hdfs dfs`` on a name node's host. Raises HostError: it fails."""
    return run(datacentre, layout.names[0], "org.apache.hadoop.fs.FsShell", *words)


def administer(datacentre: Datacentre, layout: Layout, *words: str) -> str:
    """``hdfs dfsadmin`` there, of all name nodes. Raises HostError: it fails."""
    return run(datacentre, layout.names[0], f"{HDFS}.tools.DFSAdmin", *words)


def put(datacentre: Datacentre, layout: Layout, table: Path, path: str, owner: str) -> None:
    """Copies a table of this machine to a user's folder in HDFS, with its times."""
    copy = datacentre.hosts[layout.names[0]].path("/tmp/put")
    shutil.copytree(table, copy, ignore=shutil.ignore_patterns("*.crc"))
    superuser(datacentre, layout, "-mkdir", "-p", path.rpartition("/")[0])
    superuser(datacentre, layout, "-put", "-p", "/tmp/put", path)
    superuser(datacentre, layout, "-chown", "-R", owner, path.rpartition("/")[0])
    shutil.rmtree(copy)


def get(datacentre: Datacentre, layout: Layout, path: str, folder: Path) -> Path:
    """The copy back, into a folder that is not there."""
    superuser(datacentre, layout, "-get", path, "/tmp/get")
    shutil.copytree(datacentre.hosts[layout.names[0]].path("/tmp/get"), folder)
    shutil.rmtree(datacentre.hosts[layout.names[0]].path("/tmp/get"))
    return folder


def run(datacentre: Datacentre, host: str, program: str, *words: str) -> str:
    """What a class of Hadoop's writes. Raises HostError: it fails."""
    return datacentre.check(host, [*_java(), program, *words], environment(), seconds=COMMAND_SECONDS)


def daemon(datacentre: Datacentre, host: str, program: str) -> Process:
    return datacentre.spawn(host, program.rpartition(".")[2], [*_java(), program], environment())


def start_kdc(datacentre: Datacentre, layout: Layout, *users: str) -> None:
    """Starts a realm with all services of a layout, and users.

    All services' keys are on each of Hadoop's hosts, a user's on the edge alone, at ``/etc/NAME.keytab``.
    """
    host = datacentre.hosts[layout.kdc]
    for name in {layout.kdc, *layout.hosts}:
        datacentre.hosts[name].path("/etc/krb5.conf").write_text(KRB5.replace("THE-KDC", layout.kdc))
    host.path("/var/lib/krb5kdc").mkdir()
    host.path("/etc/kdc.conf").write_text(KDC)
    env = {"KRB5_KDC_PROFILE": "/etc/kdc.conf"}
    datacentre.check(layout.kdc, ["kdb5_util", "create", "-s", "-r", REALM, "-P", "a master key"], env)
    inside = [name for name in layout.hosts if name != EDGE]
    keys = {f"{kind}/{name}": "/tmp/services" for name in inside for kind in ("hdfs", "yarn", "HTTP")}
    keys |= {user: f"/tmp/{user}" for user in users}
    asked = [f"addprinc -randkey {name}\nktadd -k {file} {name}\n" for name, file in keys.items()]
    host.path("/tmp/asked").write_text("".join(asked))
    datacentre.check(layout.kdc, ["sh", "-c", "kadmin.local < /tmp/asked"], env)
    targets = [("/tmp/services", name, KEYTAB) for name in inside]
    for source, name, target in (*targets, *((f"/tmp/{user}", EDGE, f"/etc/{user}.keytab") for user in users)):
        shutil.copy(host.path(source), datacentre.hosts[name].path(target))
    datacentre.wait_for_port(datacentre.spawn(layout.kdc, "kdc", ["krb5kdc", "-n"], env), 88)


def log_in(datacentre: Datacentre, host: str, principal: str, keytab: str, *, seconds: int = 36_000) -> None:
    """Gets a ticket for root on a host. Raises HostError: there is none."""
    datacentre.check(host, ["kinit", "-l", f"{seconds}s", "-k", "-t", keytab, principal])


def _java() -> list[str]:
    return [f"{JAVA}/bin/java", *FLAGS, "-cp", f"{CONF}:{JARS}/*"]


def environment() -> dict[str, str]:
    """Of all that is a client of HDFS or YARN."""
    return {"HADOOP_CONF_DIR": CONF, "JAVA_HOME": JAVA}


def _node(layout: Layout, host: str) -> str:
    return f"n{layout.names.index(host) + 1}"


def _two(layout: Layout) -> dict[str, str]:
    """Two name nodes, of which a person decides who is active."""
    journals = ";".join(f"{host}:8485" for host in layout.journals)
    client = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
    settings = {
        "dfs.nameservices": SERVICE,
        f"dfs.ha.namenodes.{SERVICE}": ",".join(_node(layout, host) for host in layout.names),
        f"dfs.client.failover.proxy.provider.{SERVICE}": client,
        "dfs.ha.fencing.methods": "shell(/bin/true)",
        "dfs.namenode.shared.edits.dir": f"qjournal://{journals}/{SERVICE}",
    }
    for host in layout.names:
        settings[f"dfs.namenode.rpc-address.{SERVICE}.{_node(layout, host)}"] = f"{host}:8020"
        settings[f"dfs.namenode.http-address.{SERVICE}.{_node(layout, host)}"] = f"{host}:9870"
    return settings
