"""What runs on the hosts besides Hadoop: Spark's standalone cluster, an S3, a Python for executors, and hudictl."""

import compileall
import json
import shutil
import sys
import venv
from collections.abc import Collection, Mapping, Sequence
from importlib import metadata
from pathlib import Path

import pyspark
from packaging.requirements import Requirement

from tests.cli.conftest import Said
from tests.datacentre.hosts import NOTHING, Datacentre, HostError, Process
from tests.hdfs.build import libraries
from tests.s3 import BUCKET, SECRET

ROOT = Path(__file__).parents[2]
SPARK = "/opt/spark"
PYTHON = "/opt/python"
ZOOKEEPER = "/opt/zookeeper"
SERVES = r"Peer state changed: \w+ - broadcast"
"""What a server of ZooKeeper's writes when it is one of a majority again."""
HUDICTL = "/opt/hudictl"
KEYS = {"AWS_ACCESS_KEY_ID": "the-key", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_DEFAULT_REGION": "us-east-1"}
JAVA = str(Path(shutil.which("java") or "/usr/bin/java").resolve().parents[1])
COMMAND_SECONDS = 600
SMALL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

# Small as the tables are: the executors list, decode, decide and list again, not the driver.
_EAGER = """
import sys
from hudictl.table.files import saved, sweep, written
from hudictl.storage.s3 import S3Storage
from hudictl.table.metadata import listing
sweep._ENOUGH_FILES = written._ENOUGH_BYTES = saved._ENOUGH_BYTES = 0
listing._ENOUGH_BYTES = -1
S3Storage.delete_batch = 2
from hudictl.__main__ import main
sys.exit(main())
"""
_UPLOAD = """
import boto3, pathlib, sys
client = boto3.client("s3", endpoint_url=sys.argv[1])
client.create_bucket(Bucket=sys.argv[2])
top = pathlib.Path(sys.argv[3])
for path in sorted(path for path in top.rglob("*") if path.is_file() and path.suffix != ".crc"):
    client.put_object(Bucket=sys.argv[2], Key=f"{sys.argv[4]}/{path.relative_to(top)}", Body=path.read_bytes())
"""
_DOWNLOAD = """
import boto3, pathlib, sys
client = boto3.client("s3", endpoint_url=sys.argv[1])
pages = client.get_paginator("list_objects_v2").paginate(Bucket=sys.argv[2], Prefix=sys.argv[3] + "/")
for key in pages.search("Contents[].Key"):
    path = pathlib.Path(sys.argv[4], key[len(sys.argv[3]) + 1 :])
    path.parent.mkdir(parents=True, exist_ok=True)
    client.download_file(sys.argv[2], key, str(path))
"""
LATER = "of a later writer"
_WRITE = f"""
import boto3, sys
client = boto3.client("s3", endpoint_url=sys.argv[1])
for name in sys.argv[4:]:
    client.put_object(Bucket=sys.argv[2], Key=f"{{sys.argv[3]}}/{{name}}", Body=b"{LATER}")
"""
_DIGESTS = """
import boto3, json, sys
pages = boto3.client("s3", endpoint_url=sys.argv[1]).get_paginator("list_objects_v2")
found = pages.paginate(Bucket=sys.argv[2], Prefix=sys.argv[3] + "/").search("Contents[].[Key, ETag]")
print(json.dumps({key[len(sys.argv[3]) + 1 :]: tag.strip('"') for key, tag in found}))
"""


def base() -> dict[Path, str]:
    """What every host has installed besides its system: the Python of the tests, without their packages, and Java."""
    return {Path(folder): folder for folder in (sys.base_prefix, JAVA) if not folder.startswith("/usr/")}


def store() -> dict[Path, str]:
    """What the host of an S3 has: the Python of the tests, with its packages."""
    return {**base(), Path(sys.prefix): sys.prefix}


def edge() -> dict[Path, str]:
    """What the operator's host has: hudictl, with all that it needs."""
    # Nothing there can be written: without this, each process would compile all for itself.
    compileall.compile_dir(ROOT / "hudictl", quiet=2)
    return {**store(), ROOT / "hudictl": f"{HUDICTL}/hudictl"}


def worker(python: Path) -> dict[Path, str]:
    """What a host of Spark's has: Spark, and a Python with what the documents ask of executors."""
    return {**base(), Path(pyspark.__file__).parent: SPARK, python: PYTHON}


def zookeeper() -> dict[Path, str]:
    """The folder of ZooKeeper's hosts."""
    # It does not say that it needs the latter two.
    others = ("io.dropwizard.metrics:metrics-core:4.1.12.1", "org.xerial.snappy:snappy-java:1.1.10.5")
    return {**base(), libraries("org.apache.zookeeper:zookeeper:3.8.4", *others): ZOOKEEPER}


def make_python(folder: Path, *packages: str) -> Path:
    """A Python of this release that has these packages, with all that they need, and no others."""
    venv.create(folder, symlinks=True, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    wanted, done = list(packages), set[str]()
    while wanted:
        if (name := wanted.pop()) in done:
            continue
        done.add(name)
        needs = map(Requirement, metadata.requires(name) or ())
        wanted += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
        tops = {Path(file).parts[0] for file in metadata.files(name) or ()} - {"..", "__pycache__"}
        for source in (Path(str(metadata.distribution(name).locate_file(top))) for top in tops):
            if source.is_dir():
                shutil.copytree(source, site / source.name, dirs_exist_ok=True)
            else:
                shutil.copy2(source, site)
    return folder


def clock(off: str) -> dict[str, str]:
    """The environment of processes whose clock is off, like ``-3s``. Raises HostError: Debian's faketime is missing."""
    for library in Path("/usr/lib").glob("*/faketime/libfaketime.so.1"):
        return {"LD_PRELOAD": str(library), "FAKETIME": off}
    raise HostError("there is no libfaketime: Debian's package faketime has it")


def start_spark(datacentre: Datacentre, master: str, workers: Sequence[str]) -> str:
    """A standalone master and its workers, of 1 core and 1 GiB each; returns its URL."""
    env = {"SPARK_HOME": SPARK, "SPARK_DAEMON_MEMORY": "192m", "SPARK_DAEMON_JAVA_OPTS": SMALL, "JAVA_HOME": JAVA}
    kind = f"{SPARK}/bin/spark-class org.apache.spark.deploy.{{}} --webui-port 8080 --host".split()
    url = f"spark://{master}:7077"
    command = [word.format("master.Master") for word in kind]
    datacentre.wait_for_port(datacentre.spawn(master, "master", [*command, master, "--port", "7077"], env), 7077)
    command = [word.format("worker.Worker") for word in kind]
    size = ("--cores", "1", "--memory", "1g", "--work-dir", "/var/lib/spark", url)
    for process in [datacentre.spawn(host, "worker", [*command, host, *size], env) for host in workers]:
        datacentre.wait_for_words(process, "Successfully registered", COMMAND_SECONDS)
    return url


def start_zookeeper(datacentre: Datacentre, hosts: Sequence[str]) -> None:
    """Servers that keep the same, as long as most of them see each other; clients connect to port 2181 of any."""
    servers = "".join(f"server.{number}={host}:2888:3888\n" for number, host in enumerate(hosts, 1))
    settings = "tickTime=500\ninitLimit=20\nsyncLimit=5\nclientPort=2181\ndataDir=/srv\nadmin.enableServer=false\n"
    command = [f"{JAVA}/bin/java", "-Xmx128m", *SMALL.split(), "-cp", f"{ZOOKEEPER}/*"]
    for number, host in enumerate(hosts, 1):
        datacentre.hosts[host].path("/srv/myid").write_text(str(number))
        datacentre.hosts[host].path("/etc/zoo.cfg").write_text(settings + servers)
    main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    for process in [datacentre.spawn(host, "zookeeper", [*command, main, "/etc/zoo.cfg"]) for host in hosts]:
        if len(hosts) > 1:
            datacentre.wait_for_words(process, SERVES, COMMAND_SECONDS)
        datacentre.wait_for_port(process, 2181)


def zookeeper_lock(hosts: Sequence[str]) -> list[str]:
    """hudictl's options for the lock that servers of ZooKeeper's keep."""
    settings = {
        "provider": "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider",
        "zookeeper.url": ",".join(f"{host}:2181" for host in hosts),
        "zookeeper.base_path": "/hudi",
        "zookeeper.lock_key": "table",
        "zookeeper.session_timeout_ms": "6000",
    }
    return lock_options(settings)


def lock_options(settings: Mapping[str, str]) -> list[str]:
    """hudictl's options for a lock."""
    return [word for key, value in settings.items() for word in ("--hoodie-conf", f"hoodie.write.lock.{key}={value}")]


def start_s3(datacentre: Datacentre, host: str) -> str:
    """An S3 server (moto's); returns its endpoint. What is in its ``/tmp/manner`` makes it bad: see store.py."""
    program = Path(__file__).with_name("store.py").read_text()
    command = [sys.executable, "-c", program, datacentre.hosts[host].address, "9000"]
    datacentre.wait_for_port(datacentre.spawn(host, "s3", command), 9000)
    return f"http://{host}:9000"


def upload(datacentre: Datacentre, host: str, endpoint: str, table: Path, prefix: str) -> str:
    """Copies a table of this machine into the S3, from one of its hosts; its URI."""
    shutil.copytree(table, datacentre.hosts[host].path("/tmp/upload"))
    datacentre.check(host, [sys.executable, "-c", _UPLOAD, endpoint, BUCKET, "/tmp/upload", prefix], KEYS)
    shutil.rmtree(datacentre.hosts[host].path("/tmp/upload"))
    return f"s3a://{BUCKET}/{prefix}"


def download(datacentre: Datacentre, host: str, endpoint: str, prefix: str, folder: Path) -> Path:
    """The copy back, into a folder that is not there."""
    datacentre.check(host, [sys.executable, "-c", _DOWNLOAD, endpoint, BUCKET, prefix, "/tmp/download"], KEYS)
    shutil.copytree(datacentre.hosts[host].path("/tmp/download"), folder)
    shutil.rmtree(datacentre.hosts[host].path("/tmp/download"))
    return folder


def stored(datacentre: Datacentre, host: str, endpoint: str, prefix: str) -> dict[str, str]:
    """The MD5 digest of each object below a prefix, by its name there."""
    found = datacentre.check(host, [sys.executable, "-c", _DIGESTS, endpoint, BUCKET, prefix], KEYS)
    return dict(json.loads(found))


def write(datacentre: Datacentre, host: str, endpoint: str, prefix: str, names: Collection[str]) -> None:
    """A later writer's files."""
    datacentre.check(host, [sys.executable, "-c", _WRITE, endpoint, BUCKET, prefix, *names], KEYS)


def storage_options(endpoint: str, **more: str) -> list[str]:
    """hudictl's options for this S3."""
    region = '{"region_name": "us-east-1"}'
    options = {"key": "the-key", "secret": SECRET, "endpoint_url": endpoint, "client_kwargs": region, **more}
    return [word for key, value in options.items() for word in ("--storage-option", f"{key}={value}")]


def hudictl(
    datacentre: Datacentre, host: str, *words: str, env: Mapping[str, str] = NOTHING, seconds: float = COMMAND_SECONDS
) -> Said:
    """What hudictl answers on a host. With Spark even small tables are work for executors."""
    done = datacentre.run(host, [sys.executable, "-c", _EAGER, *words], {**operator(), **env}, seconds=seconds)
    return Said(done.returncode, done.stdout, done.stderr)


def spawn_hudictl(
    datacentre: Datacentre, host: str, *words: str, env: Mapping[str, str] = NOTHING, changed: str = ""
) -> Process:
    """The same as a process that goes on; ``changed``: what runs in it before, as for a hudictl with a fault."""
    return datacentre.spawn(host, "hudictl", [sys.executable, "-c", changed + _EAGER, *words], {**operator(), **env})


def operator() -> dict[str, str]:
    return {"PYTHONPATH": HUDICTL, "SPARK_DRIVER_MEMORY": "512m", "JAVA_HOME": JAVA}


def settings(**more: str) -> list[str]:
    """Spark's settings for small executors, as options; of a name that is given, ``_`` stands for ``.``."""
    found = {"spark.executor.memory": "512m", "spark.executor.extraJavaOptions": SMALL}
    found |= {name.replace("_", "."): value for name, value in more.items()}
    return [word for name, value in found.items() for word in ("--conf", f"{name}={value}")]
