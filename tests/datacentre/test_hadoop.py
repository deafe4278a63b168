"""HDFS with two name nodes, and YARN, whose hosts share nothing with the operator's; without and with Kerberos."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.datacentre import hadoop
from tests.datacentre.hadoop import Layout
from tests.datacentre.hosts import Datacentre, Process, start_hosts
from tests.datacentre.jobs_support import do, done_here
from tests.datacentre.outcome_support import WORDS, Outcome, data, digests, restored
from tests.datacentre.services import (
    COMMAND_SECONDS,
    PYTHON,
    SPARK,
    base,
    edge,
    hudictl,
    make_python,
    settings,
    spawn_hudictl,
    worker,
)

pytestmark = [pytest.mark.datacentre, pytest.mark.full]

USER = "etl"
"""Not the superuser, who may do all."""
LAYOUT = Layout(names=("nn1", "nn2"), datas=("w1", "w2"), journals=("nn1", "nn2", "w1"), resources="rm")
SECURE = replace(LAYOUT, kdc="kdc")
ENVIRONMENT = hadoop.environment()
HERE = {**ENVIRONMENT, "HADOOP_USER_NAME": USER, "PYSPARK_PYTHON": "./environment/bin/python"}
YARN = ("--master", "yarn", *settings(spark_executor_instances="2", spark_yarn_stagingDir="hdfs:///lake/staging"))
ARCHIVED = (*YARN, *settings(spark_yarn_dist_archives="/opt/packed/environment.tar.gz#environment"))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an archive with a Python for executors, made as docs/engines.md says."""
    folder = tmp_path_factory.mktemp("environment")
    packages = [f"{name}=={version(name)}" for name in ("fsspec", "requests", "fastavro")]
    for command in (
        [sys.executable, "-m", "venv", "made"],
        ["made/bin/pip", "install", "--quiet", *packages, "venv-pack==0.2.0"],
        ["mkdir", "packed"],
        ["made/bin/venv-pack", "--quiet", "-p", "made", "-o", "packed/environment.tar.gz"],
    ):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "packed"


@pytest.fixture(scope="module", params=hadoop.RELEASES)
def lake(
    packed: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Datacentre]:
    """Without Kerberos. Its hosts have neither Spark nor packages for Python: both come with the job."""
    host = {**base(), **hadoop.jars(request.param)}
    hosts = {**dict.fromkeys(LAYOUT.hosts, host), "edge": {**edge(), packed: "/opt/packed"}}
    with start_hosts(tmp_path_factory.mktemp("lake"), hosts) as running:
        hadoop.configure(running, LAYOUT)
        hadoop.start_hdfs(running, LAYOUT)
        hadoop.start_yarn(running, LAYOUT)
        yield running


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Datacentre]:
    """With Kerberos. Spark and its Python are installed on the hosts of the node managers."""
    pytest.importorskip("requests_gssapi", reason="the extra hdfs is not installed: pip install 'hudictl[hdfs]'")
    if not shutil.which("krb5kdc"):
        pytest.skip("there is no krb5kdc: Debian's packages krb5-kdc and krb5-user have what this needs")
    folder = tmp_path_factory.mktemp("secure")
    host = {**base(), **hadoop.jars()}
    node = {**host, **worker(make_python(folder / "python", "fsspec", "requests", "fastavro"))}
    hosts = {**dict.fromkeys(SECURE.hosts, host), "w1": node, "w2": node, "edge": edge(), "kdc": {}}
    with start_hosts(folder / "logs", hosts) as running:
        hadoop.configure(running, SECURE)
        hadoop.start_kdc(running, SECURE, USER)
        hadoop.start_hdfs(running, SECURE)
        hadoop.start_yarn(running, SECURE)
        yield running


def put(datacentre: Datacentre, layout: Layout, table: Outcome, name: str) -> str:
    """Copies a table to the user's folder; its URI, which names the service."""
    hadoop.put(datacentre, layout, table.path, f"/lake/{name}", USER)
    return f"hdfs:///lake/{name}"


def found(datacentre: Datacentre, layout: Layout, name: str, folder: Path) -> dict[str, str]:
    """The data files that are there now."""
    return data(digests(hadoop.get(datacentre, layout, f"/lake/{name}", folder / "found")))


def test_yarn(lake: Datacentre, tmp_path: Path) -> None:
    """Nothing but Java and the same Python is on the executors' hosts; no file of a job stays in HDFS."""
    table = restored("v9", tmp_path)
    options = ("-t", put(lake, LAYOUT, table, "yarn"), *ARCHIVED, "-o", "json")
    said = hudictl(lake, "edge", "savepoint", "create", *options, "--yes", env=HERE)
    assert said.code == 0, said.err
    said = hudictl(lake, "edge", "restore", table.target, *WORDS, *options, "--yes", env=HERE)
    assert said.code == 0, said.err
    assert found(lake, LAYOUT, "yarn", tmp_path) == table.after
    said = hudictl(lake, "edge", "check", *options, env=HERE)
    assert (said.code, said.json["rows"]) == (0, []), said.err
    left = hadoop.superuser(lake, LAYOUT, "-ls", "-R", "/lake/staging").splitlines()
    assert [line.rpartition("/")[2] for line in left] == [USER, ".sparkStaging"]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"spark_yarn_am_memory": "3g"}, "is above the max threshold"),
        ({"spark_yarn_queue": "nobodys"}, "nobodys"),
    ],
)
def test_yarn_refuses(lake: Datacentre, tmp_path: Path, setting: dict[str, str], words: str) -> None:
    """One line says what YARN has against the job; the table is as it was."""
    table, name = restored("v9", tmp_path), f"refused-{'-'.join(setting)}"
    options = ("-t", put(lake, LAYOUT, table, name), *ARCHIVED, *settings(**setting), "-o", "json")
    said = hudictl(lake, "edge", "restore", table.target, *WORDS, *options, "--yes", env=HERE)
    assert said.code == 16, said.out
    assert words in said.error["message"]
    assert "\n" not in said.error["message"]
    assert found(lake, LAYOUT, name, tmp_path) == table.before


def test_yarn_kills_the_executors(lake: Datacentre, tmp_path: Path) -> None:
    """As for a queue with more rights: others are started, and the command ends."""
    table = restored("v9", tmp_path)
    options = ("-t", put(lake, LAYOUT, table, "killed"), *ARCHIVED, "-o", "json")
    process = spawn_hudictl(
        lake, "edge", "restore", table.target, *WORDS, "--grace", "10s", "--yes", *options, env=HERE
    )
    wait_for_inflight(lake, "killed")
    killed = [lake.run(host, ["pkill", "-9", "-f", "CoarseGrainedExecutorBackend"]) for host in LAYOUT.datas]
    assert 0 in [done.returncode for done in killed]
    assert process.wait(COMMAND_SECONDS) == 0, process.said()
    assert found(lake, LAYOUT, "killed", tmp_path) == table.after


def test_yarn_takes_executors_for_another_queue(lake: Datacentre, tmp_path: Path) -> None:
    """While files are to be deleted, another job wants its share back: the command ends all the same, later."""
    table = restored("v9", tmp_path)
    uri = put(lake, LAYOUT, table, "preempted")
    options = ("-t", uri, *ARCHIVED, "-o", "json")
    words = ("restore", table.target, *WORDS, "--grace", "60s", "--yes", *options)
    process = spawn_hudictl(lake, "edge", *words, env=HERE)
    wait_for_inflight(lake, "preempted")
    urgent = settings(spark_yarn_queue=hadoop.URGENT)
    said = hudictl(lake, "edge", "orphans", "list", "-t", uri, *ARCHIVED, *urgent, env=HERE)
    assert said.code in (0, 3, 12, 14), said.err
    assert process.wait(COMMAND_SECONDS) == 0, process.said()
    assert max(hadoop.preempted_mib(lake, LAYOUT)) > 0
    assert found(lake, LAYOUT, "preempted", tmp_path) == table.after


def name_node(datacentre: Datacentre) -> Process:
    """The process of the first name node."""
    return [process for process in datacentre.processes if (process.host, process.name) == ("nn1", "NameNode")][-1]


def wait_for_inflight(datacentre: Datacentre, name: str) -> None:
    """Until a restore of a table has begun to change it, by the first name node's audit log."""
    words = rf"cmd=rename.*dst=/lake/{name}/\.hoodie/timeline/\S+\.restore\.inflight"
    datacentre.wait_for_words(name_node(datacentre), words, COMMAND_SECONDS)


def test_a_failover_in_the_middle(lake: Datacentre, tmp_path: Path) -> None:
    """Between the removal of instants and that of files the other name node becomes active: nothing is to be seen."""
    table = restored("v9", tmp_path)
    options = ("-t", put(lake, LAYOUT, table, "failover"), *ARCHIVED, "-o", "json")
    words = ("restore", table.target, *WORDS, "--grace", "20s", "--yes", *options)
    process = spawn_hudictl(lake, "edge", *words, env=HERE)
    wait_for_inflight(lake, "failover")
    hadoop.make_active(lake, LAYOUT, "nn2", instead_of="nn1")
    assert process.outside.poll() is None
    assert process.wait(COMMAND_SECONDS) == 0, process.said()
    assert found(lake, LAYOUT, "failover", tmp_path) == table.after
    hadoop.make_active(lake, LAYOUT, "nn1", instead_of="nn2")


def refuse(datacentre: Datacentre, name: str, how: str) -> None:
    """Brings HDFS into a state in which it does not do what it is asked."""
    if how == "safe mode":
        hadoop.administer(datacentre, LAYOUT, "-safemode", "enter")
    elif how == "quota":
        hadoop.administer(datacentre, LAYOUT, "-setQuota", "1", f"/lake/{name}")
    else:
        datacentre.cut("w2")


def relent(datacentre: Datacentre, name: str, how: str) -> None:
    """The reverse."""
    if how == "safe mode":
        hadoop.administer(datacentre, LAYOUT, "-safemode", "leave")
    elif how == "quota":
        hadoop.administer(datacentre, LAYOUT, "-clrQuota", f"/lake/{name}")
    else:
        datacentre.heal("w2")


@pytest.mark.parametrize(
    ("how", "codes", "words"),
    # If files are deleted then, each of them is told.
    [("safe mode", (3, 15), "in safe mode"), ("quota", (15,), "NSQuotaExceededException"), ("data node", (0,), "")],
)
def test_hdfs_refuses(lake: Datacentre, tmp_path: Path, how: str, codes: tuple[int, ...], words: str) -> None:
    """In the middle: one line says why, and the same command ends it afterwards. One data node of two is enough."""
    table, name = restored("v9", tmp_path), how.replace(" ", "-")
    options = ("-t", put(lake, LAYOUT, table, name), "--engine", "local", "-o", "json")
    command = ("restore", table.target, *WORDS, "--grace", "10s", "--yes", *options)
    process = spawn_hudictl(lake, "edge", *command, env=HERE)
    wait_for_inflight(lake, name)
    refuse(lake, name, how)
    code, said = process.wait(COMMAND_SECONDS), process.said()
    relent(lake, name, how)
    assert code in codes, said
    assert words in said
    assert "Traceback" not in said
    if code:
        done = hudictl(lake, "edge", *command, env=HERE)
        assert done.code == 0, done.err
    assert found(lake, LAYOUT, name, tmp_path) == table.after


def test_the_active_name_node_is_cut_off(lake: Datacentre, tmp_path: Path) -> None:
    """It is not told: the other takes over by the journals. Whatever the command says, the same one ends it.

    The last test of this data centre: the second name node stays the active one.
    """
    table = restored("v9", tmp_path)
    options = ("-t", put(lake, LAYOUT, table, "cut"), "--engine", "local", "-o", "json")
    words = ("restore", table.target, *WORDS, "--grace", "10s", "--yes", *options)
    process = spawn_hudictl(lake, "edge", *words, env=HERE)
    wait_for_inflight(lake, "cut")
    lake.cut("nn1")
    hadoop.make_active(lake, LAYOUT, "nn2", instead_of="nn1")
    assert process.wait(COMMAND_SECONDS) in (0, 15), process.said()
    said = hudictl(lake, "edge", *words, env=HERE)
    assert said.code == 0, said.err
    # Back on the network it would still answer as the active one, with what was there before.
    name_node(lake).signal(signal.SIGKILL)
    lake.heal("nn1")
    hadoop.start_name_node(lake, "nn1")
    assert found(lake, LAYOUT, "cut", tmp_path) == table.after


def test_kerberos(secure: Datacentre, tmp_path: Path) -> None:
    """By a ticket out of a keytab. Executors have no ticket: the driver's tokens are enough, also after a failover."""
    table = restored("v9", tmp_path)
    jars = settings(spark_yarn_jars=f"local:{SPARK}/jars/*")
    options = ("-t", put(secure, SECURE, table, "kerberos"), *YARN, *jars, "-o", "json")
    env = {**ENVIRONMENT, "PYSPARK_PYTHON": f"{PYTHON}/bin/python"}
    said = hudictl(secure, "edge", "savepoint", "create", *options, "--yes", env=env)
    assert said.code == 15, said.out
    assert "kinit" in said.error["hint"]
    hadoop.log_in(secure, "edge", USER, f"/etc/{USER}.keytab")
    said = hudictl(secure, "edge", "savepoint", "create", *options, "--yes", env=env)
    assert said.code == 0, said.err
    assert secure.run("w1", ["ls", "/tmp/krb5cc_0"]).returncode == 2
    process = spawn_hudictl(
        secure, "edge", "restore", table.target, *WORDS, "--grace", "20s", "--yes", *options, env=env
    )
    wait_for_inflight(secure, "kerberos")
    hadoop.make_active(secure, SECURE, "nn2", instead_of="nn1")
    assert process.outside.poll() is None
    assert process.wait(COMMAND_SECONDS) == 0, process.said()
    assert found(secure, SECURE, "kerberos", tmp_path) == table.after
    said = hudictl(secure, "edge", "check", *options, env=env)
    assert (said.code, said.json["rows"]) == (0, []), said.err


def test_other_jobs_with_kerberos(secure: Datacentre, tmp_path: Path) -> None:
    jobs = done_here(tmp_path)
    hadoop.put(secure, SECURE, jobs.path, "/lake/jobs", USER)
    hadoop.log_in(secure, "edge", USER, f"/etc/{USER}.keytab")
    jars = settings(spark_yarn_jars=f"local:{SPARK}/jars/*")
    options = ("-t", "hdfs:///lake/jobs", *YARN, *jars, "-o", "json")
    env = {**ENVIRONMENT, "PYSPARK_PYTHON": f"{PYTHON}/bin/python"}
    do(jobs, lambda *words: hudictl(secure, "edge", *words, *options, env=env))
    assert found(secure, SECURE, "jobs", tmp_path) == jobs.after


def test_a_restore_that_outlives_its_ticket_and_token(secure: Datacentre, tmp_path: Path) -> None:
    """Cron renews the ticket, by a keytab; by it, hudictl extends the token."""
    table = restored("v9", tmp_path)
    options = ("-t", put(secure, SECURE, table, "long"), "--engine", "local", "-o", "json")
    command = ("restore", table.target, *WORDS, "--grace", f"{hadoop.TOKEN_SECONDS + 20}s", "--yes", *options)
    hadoop.log_in(secure, "edge", USER, f"/etc/{USER}.keytab", seconds=30)
    again = f"while sleep 10; do kinit -l 30s -k -t /etc/{USER}.keytab {USER}; done"
    cron = secure.spawn("edge", "cron", ["sh", "-c", again])
    said = hudictl(secure, "edge", *command, env=ENVIRONMENT)
    cron.signal(signal.SIGKILL)
    assert said.code == 0, said.err
    assert found(secure, SECURE, "long", tmp_path) == table.after
