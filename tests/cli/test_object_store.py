"""Savepoints and restores of whole tables on S3 (moto's), and stores that cannot keep two hudictl apart."""

import json
import sys
import time
import uuid
from pathlib import Path

import fsspec
import pytest

from hudictl.cli.command_line import command_line
from hudictl.formats.layouts import OWN
from hudictl.ops.restore import execute
from hudictl.ops.restore.planning import plan_restore
from hudictl.table.locks.claim import claim
from hudictl.table.locks.config import STORAGE, WITHIN_WRITERS
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline, pending_rollbacks
from tests import support
from tests.cli.conftest import Tell
from tests.cli.object_store_support import bare, files
from tests.helpers import session
from tests.s3 import BUCKET, S3, SECRET, Application, Environment, Start

pytestmark = pytest.mark.slow

TABLES = [("v6", "mor_savepoints"), ("v8", "cow_part"), ("v9", "cow_flat_nomdt")]
MORE_TABLES = [
    (version, name)
    for version in support.VERSIONS
    for name in ("cow_part", "cow_flat_nomdt", "mor_part", "mor_savepoints", "mor_pending_compaction", "cow_cluster")
    if (version, name) not in TABLES
]


def restore_both(s3: S3, tell: Tell, folder: Path, version: str, name: str, engine: str) -> None:
    """The same commands on a local table and on its copy on S3; the engine is that of the restore there."""
    base = support.unpack(version, name, folder)
    prefix = f"whole/{uuid.uuid4()}"
    uri = s3.upload(base, prefix)
    target = sorted(support.facts(version, name)["rows"])[1]
    for place, restoring in ((str(base), "local"), (uri, engine)):
        common = ("-t", place, "--yes", *s3.arguments)
        assert tell("savepoint", "create", target, *common, "--engine", "local").code == 0
        said = tell("restore", target, *common, "-o", "json", "--engine", restoring)
        assert (said.code, said.err) == (0, "")
        assert said.json["result"]["target"] == target
        again = tell("restore", target, *common, "--engine", "local")
        assert (again.code, "nothing to do" in again.out) == (0, True)
    assert bare(s3.names(prefix)) == bare(files(base))
    copy = s3.download(prefix, folder / "copy")
    for path in bare(files(base)):
        if not path.startswith(".hoodie"):
            assert (base / path).stat().st_size == (copy / path).stat().st_size


@pytest.mark.parametrize(("version", "name"), TABLES)
def test_a_whole_restore(s3: S3, tell: Tell, tmp_path: Path, version: str, name: str) -> None:
    """On S3 as on local files: the same timeline, the same data files of the same sizes; again is nothing to do."""
    restore_both(s3, tell, tmp_path, version, name, "local")


@pytest.mark.full
@pytest.mark.parametrize(("version", "name"), MORE_TABLES)
def test_a_whole_restore_of_more_tables(s3: S3, tell: Tell, tmp_path: Path, version: str, name: str) -> None:
    restore_both(s3, tell, tmp_path, version, name, "local")


@pytest.mark.short("v9-cow_flat_nomdt")
@pytest.mark.parametrize(("version", "name"), TABLES)
def test_an_undo(s3: S3, tell: Tell, tmp_path: Path, version: str, name: str) -> None:
    """All objects are as before, with other times; and nothing is left of what was kept."""
    base, prefix = support.unpack(version, name, tmp_path), f"undo/{uuid.uuid4()}"
    uri, target = s3.upload(base, prefix), sorted(support.facts(version, name)["rows"])[0]
    before = s3.names(prefix)
    common = ("-t", uri, "--yes", "--engine", "local", "--idle", "0s", *s3.arguments)
    said = tell("restore", "--to-instant", target, "--keep-files", "--delete-later-savepoints", *common, "-o", "json")
    assert (said.code, said.err) == (0, "")
    assert s3.names(prefix) != before
    said = tell("undo", said.json["result"]["undo"], *common)
    assert (said.code, said.err) == (0, "")
    own = f"{OWN}/"
    assert {path for path in s3.names(prefix) if not path.startswith(own)} == before
    assert not [path for path in s3.names(prefix) if path.startswith(f"{own}undo/")]
    copy = s3.download(prefix, tmp_path / "copy")
    assert [path for path in before if (base / path).read_bytes() != (copy / path).read_bytes()] == []


@pytest.mark.cluster
def test_a_whole_restore_by_spark(s3: S3, tell: Tell, tmp_path: Path) -> None:
    """Executors speak to the store themselves: they list, write rollback blocks, delete, and list again."""
    restore_both(s3, tell, tmp_path, *TABLES[0], "spark")


@pytest.mark.full
@pytest.mark.parametrize(
    ("version", "name"),
    [("v6", "cow_part"), ("v8", "cow_part"), ("v8", "mor_part"), ("v9", "cow_part"), ("v9", "mor_part")],
)
def test_a_whole_restore_of_more_tables_by_spark(s3: S3, tell: Tell, tmp_path: Path, version: str, name: str) -> None:
    restore_both(s3, tell, tmp_path, version, name, "spark")


def savepointed(
    s3: S3, tell: Tell, folder: Path, version: str = "v9", name: str = "cow_flat_nomdt"
) -> tuple[str, str, str]:
    """A table on S3 with a savepoint on its second commit: prefix, URI and target."""
    prefix = f"one/{uuid.uuid4()}"
    uri = s3.upload(support.unpack(version, name, folder), prefix)
    target = sorted(support.facts(version, name)["rows"])[1]
    assert tell("savepoint", "create", target, "-t", uri, "--yes", "--engine", "local", *s3.arguments).code == 0
    return prefix, uri, target


def test_stored_plans_name_the_files_as_the_writers_open_them(
    s3: S3, tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the URI that was given. The rerun takes the plans for its own, by whichever of S3's names it is started."""
    prefix, uri, target = savepointed(s3, tell, tmp_path)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    common = ("--yes", "--engine", "local", *s3.arguments)
    with monkeypatch.context() as patch:
        patch.setattr("hudictl.ops.undo.execute.delete_files", die)
        assert tell("restore", target, "-t", uri, *common).code == 130
    table = open_table(uri, s3.options)
    pending = pending_rollbacks(table, load_timeline(table))
    paths = [path for _, plan in pending if plan for request in plan.requests for path in request.files]
    assert len(pending) == 3
    assert {path.removeprefix(f"{uri}/") for path in paths} <= s3.names(prefix)
    again = uri.replace("s3a:", "s3:")
    planned = plan_restore(session(open_table(again, s3.options)), target)
    assert {removal.rollback for removal in planned.undo.removals} == {entry.time for entry, _ in pending}
    assert tell("resume", "-t", again, *common).code == 0


def test_a_dropped_metadata_table_leaves_no_instants(
    s3: S3, tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hudi 1.2.0 could not finish the restore: it would take them for those of a new metadata table."""
    prefix, uri, target = savepointed(s3, tell, tmp_path, "v9", "cow_part")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    common = ("-t", uri, "--yes", "--engine", "local", *s3.arguments)
    with monkeypatch.context() as patch:
        patch.setattr(execute, "delete_dropped", die)
        assert tell("restore", target, *common, "--metadata", "delete").code == 130
    left = {name for name in s3.names(prefix) if name.startswith(".hoodie/metadata/")}
    assert left
    assert not any(name.startswith(".hoodie/metadata/.hoodie/") for name in left)
    assert tell("resume", *common).code == 0
    assert not any(name.startswith(".hoodie/metadata/") for name in s3.names(prefix))


def test_secrets_are_printed_nowhere(s3: S3, tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by whoever meets the claim, nor in it, nor in the log, nor in an error."""
    prefix, uri, target = savepointed(s3, tell, tmp_path)
    line = ["restore", target, "-t", uri, *s3.arguments, f"--storage-option=token={SECRET}", "--engine", "local"]
    line += ["--conf", f"spark.hadoop.fs.s3a.secret.key={SECRET}", f"--conf=spark.my.password={SECRET}"]
    line += ["--conf", "spark.executor.memory=4g"]
    monkeypatch.setattr(sys, "argv", ["hudictl", *line])
    shown = command_line()
    assert SECRET not in shown
    assert "secret=***" in shown
    assert "spark.executor.memory=4g" in shown
    with claim(open_table(uri, s3.options).storage, shown):
        said = tell("restore", target, "-t", uri, "-v", "--yes", "--engine", "local", *s3.arguments)
    assert (said.code, "endpoint_url=***" in said.err) == (12, True)
    assert SECRET not in said.out + said.err
    bodies = [s3.backend.get_object(BUCKET, f"{prefix}/{name}").value for name in s3.names(prefix) if OWN in name]
    assert bodies
    assert not any(SECRET.encode() in body for body in bodies)
    for wrong in (["--storage-option", SECRET], ["--storage-option", f"anon={SECRET}"]):
        said = tell("table", "show", "-t", uri, *wrong)
        assert (said.code, SECRET in said.err) == (2, False)


def test_no_connection(tell: Tell) -> None:
    """15, and one line."""
    arguments = ("--storage-option", "endpoint_url=http://127.0.0.1:9", "--storage-option", "key=k", "--storage-option")
    retries = 'config_kwargs={"retries": {"total_max_attempts": 1}}'
    said = tell("table", "show", "-t", f"s3://{BUCKET}/t", *arguments, "secret=s", "--storage-option", retries)
    assert said.code == 15
    assert "127.0.0.1:9" in said.line


@pytest.fixture
def in_memory(tmp_path: Path) -> tuple[str, str]:
    """A table on fsspec's memory store, which keeps nobody apart; URI and target."""
    uri = f"memory://{uuid.uuid4()}/table"
    base = support.unpack("v9", "cow_part", tmp_path)
    for name in files(base):
        fsspec.filesystem("memory").pipe_file(f"{uri}/{name}", (base / name).read_bytes())
    return uri, sorted(support.facts("v9", "cow_part")["rows"])[1]


def test_a_store_without_exclusive_creation(tell: Tell, in_memory: tuple[str, str]) -> None:
    """Every command that writes is refused (11), with the way out; which works."""
    uri, target = in_memory
    create = ("savepoint", "create", target, "-t", uri, "--yes", "--engine", "local")
    restore = ("restore", target, "-t", uri, "--yes", "--engine", "local")
    for command in (create, restore, ("savepoint", "delete", target, "-t", uri, "--yes")):
        said = tell(*command)
        assert (said.code, "--single-operator" in said.line) == (11, True)
    assert not fsspec.filesystem("memory").exists(f"{uri}/{OWN}")
    for command in (create, restore, restore):
        assert tell(*command, "--single-operator").code == 0
    assert target in tell("table", "show", "-t", uri).out


def conditions_are_ignored(environment: Environment, start: Start, application: Application) -> None:
    environment.pop("HTTP_IF_NONE_MATCH", None)


def test_a_store_that_takes_the_condition_and_ignores_it(s3: S3, tell: Tell, tmp_path: Path) -> None:
    """Found out by the claim (11): nothing else is written, and the claim does not stand in the way."""
    prefix, uri, target = savepointed(s3, tell, tmp_path)
    before = s3.names(prefix)
    common = ("-t", uri, "--yes", "--engine", "local", *s3.arguments)
    with s3.interfering(conditions_are_ignored):
        for _ in range(2):
            said = tell("restore", target, *common)
            assert (said.code, "--single-operator" in said.line) == (11, True)
            assert {name for name in s3.names(prefix) ^ before if not name.startswith(OWN)} == set()
        assert tell("restore", target, *common, "--single-operator").code == 0


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_a_dead_writer_left(s3: S3, tell: Tell, tmp_path: Path, version: str) -> None:
    """While its heartbeat is fresh it runs; expired, it failed, and the heartbeat can go."""
    prefix = f"left/{uuid.uuid4()}"
    uri = s3.upload(support.unpack(version, "mor_failed_lazy", tmp_path), prefix)
    common = ("-t", uri, *s3.arguments, "-o", "json")
    before = s3.names(prefix)
    (beat,) = (name for name in before if name.startswith(".hoodie/.heartbeat/"))
    instant = beat.rpartition("/")[2]
    for age_s, state, verdict, code in ((30, "live", "running", 12), (3_700, "expired", "failed", 0)):
        s3.set_time(f"{prefix}/{beat}", time.time() - age_s)
        (row,) = tell("heartbeat", "list", *common).json["rows"]
        assert (row["instant"], row["state"]) == (instant, state)
        assert -5_000 < row["age_ms"] - age_s * 1000 < 60_000
        (write,) = tell("failed-writes", "list", *common).json["rows"]
        assert (write["instant"], write["verdict"], write["markers"]) == (instant, verdict, 2)
        assert s3.names(prefix) == before
        assert tell("heartbeat", "delete", instant, "--yes", *common).code == code
    assert before - s3.names(prefix) == {beat}
    markers = tell("marker", "list", instant, *common).json["rows"]
    assert [marker["on_storage"] for marker in markers] == [True, True]
    assert tell("marker", "delete", instant, "--yes", *common).code == 13


def test_the_writers_lock_in_the_store_is_taken(s3: S3, tell: Tell, tmp_path: Path) -> None:
    """A released lock says that they take it: without their settings nothing is changed. With them it is waited for,
    held, and released; by --no-lock it is left alone."""
    prefix, uri, target = savepointed(s3, tell, tmp_path)
    key = f"{prefix}/.hoodie/.locks/table_lock.json"
    released = b'{"expired":true,"validUntil":1,"owner":"w"}'
    s3.put({key: released})
    common = ("-t", uri, "--yes", *s3.arguments)
    configured = ("--hoodie-conf", f"hoodie.write.lock.provider={STORAGE}")
    before = s3.names(prefix)
    said = tell("restore", target, "--engine", "local", *common)
    assert (said.code, "writers take this lock" in said.err, STORAGE in said.err) == (12, True, True)
    within = ("--hoodie-conf", f"hoodie.write.lock.provider={WITHIN_WRITERS[0]}")
    assert tell("restore", target, "--engine", "local", *common, *within).code == 12
    assert s3.names(prefix) == before

    live = b'{"expired":false,"validUntil":%d,"owner":"w"}' % int((time.time() + 60) * 1000)
    s3.put({key: live})
    shown = tell("lock", "show", "-t", uri, "-o", "json", *configured, *s3.arguments).json["result"]
    (sign,) = shown["locks"]
    assert (sign["owner"], sign["held"], shown["configured"]["lock"]["validity_ms"]) == ("w", True, 300_000)
    assert 0 < sign["expires_in_ms"] <= 60_000
    said = tell("savepoint", "delete", target, *common, *configured, "--lock-timeout", "0s")
    assert (said.code, "(w, which expires in" in said.err) == (12, True)
    assert s3.backend.get_object(BUCKET, key).value == live

    s3.put({key: released})
    done = tell("restore", target, "--engine", "local", *common, *configured)
    assert (done.code, done.err) == (0, done.err)
    lock = json.loads(s3.backend.get_object(BUCKET, key).value)
    assert (lock["expired"], lock["owner"].startswith("hudictl-")) == (True, True)
    s3.put({key: live})
    assert tell("savepoint", "delete", target, *common, "--no-lock").code == 12, "held: by whomever"
    s3.put({key: released})
    assert tell("savepoint", "delete", target, *common, "--no-lock").code == 0
    assert s3.backend.get_object(BUCKET, key).value == released


def test_an_account_that_may_not_delete_begins_nothing(s3: S3, tell: Tell, tmp_path: Path) -> None:
    """Half a restore, without the first commit taken from the timeline, would be all that it can do. A savepoint it may
    create."""
    prefix = f"kept/{uuid.uuid4()}"
    uri = s3.upload(support.unpack("v9", "cow_flat_nomdt", tmp_path), prefix)
    rows = sorted(support.facts("v9", "cow_flat_nomdt")["rows"])
    common = ("-t", uri, "--yes", "--engine", "local", *s3.arguments)

    def refused(*asked: str) -> None:
        before = s3.names(prefix)
        s3.protect(f"{prefix}/*")
        said = tell(*asked, *common)
        assert said.code == 15
        assert "AccessDenied" in said.line
        assert "this command has changed nothing; the account must be allowed to delete objects" in said.line
        changed = s3.names(prefix) ^ before
        assert not [name for name in changed if not name.startswith(OWN) or f"{OWN}/operations" in name]
        s3.unprotect()

    refused("restore", "--to-instant", rows[0], "--idle", "0s")
    refused("rollback", rows[-1], "--idle", "0s")
    done = tell("restore", "--to-instant", rows[1], "--keep-files", "--idle", "0s", "-o", "json", *common)
    undo = done.json["result"]["undo"]
    refused("undo", undo, "--idle", "0s")
    refused("undo", "drop", undo)
    assert tell("undo", undo, "--idle", "0s", *common).code == 0
    s3.protect(f"{prefix}/*")
    assert tell("savepoint", "create", rows[0], *common).code == 0
    s3.unprotect()
