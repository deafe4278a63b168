"""Commands and the library give the same, on every sample table."""

from collections.abc import Callable, Mapping
from itertools import islice
from operator import attrgetter
from typing import Any

import click
import pytest

import hudictl as package
from hudictl.cli.main import hudictl
from hudictl.cli.tree import every_command
from hudictl.errors import HudictlError
from hudictl.library.rows import Rows
from hudictl.library.table import HudiTable
from hudictl.render.json import plain
from hudictl.reports.services import SERVICES
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.cli.every_command import first, looks, pending
from tests.helpers import OWN, Copy, tree
from tests.library.same_support import settled

Call = Callable[[HudiTable], Any]
FILE = "part-0/x-0_0-1-2_20261121.parquet"
WITHOUT = {
    "doctor": "it looks at this host: its Python, Java and stores",
    "config list": "it shows where the user's profiles are",
    "mcp": "it is a server on the library",
    "schema": "it is about documents, not a table: docs/schemas/ has them",
    "timeline report": "it is a page: pictures.page(pictures.report())",
    "demo": "it makes a table to try commands on",
    "completion": "it is for shells",
    "resume": "it chooses among withdraw_restore, restore, rollback, services.discard_rollbacks and remove_leftovers",
    "log slices": "an older name of file slices",
    "metadata stats": "an older name of metadata partitions",
}
"""The commands that the library has no call for, and why."""
CHANGES = {
    "apply": "apply",
    "copy": "copy",
    "failed-writes clean": "clean_failed_writes",
    "heartbeat delete": "writers.delete_heartbeat",
    "lock break": "writers.break_lock",
    "marker delete": "writers.delete_markers",
    "metadata drop": "metadata.drop",
    "orphans delete": "delete_orphans",
    "restore": "restore",
    "rollback": "rollback",
    "savepoint create": "create_savepoint",
    "savepoint delete": "delete_savepoint",
    "savepoint prune": "prune_savepoints",
    "partition repair": "files.repair_metafiles",
    "table repair-properties": "repairs.properties",
    "table set-property": "repairs.set_properties",
    "timeline quarantine": "repairs.quarantine",
    "archive repair": "repairs.archive",
    "clean discard": "services.remove",
    "compaction unschedule": "repairs.unschedule",
    "compaction rebuild-plan": "rollback",
    "clustering prune": "repairs.prune",
    "undo": "undo",
    "undo drop": "drop_undo",
}
"""The commands that change a table: tests/library/test_changes.py compares them."""


def calls(copy: Copy) -> Mapping[str, Call]:
    """What a program calls in the place of each command line of ``looks``, whose first words are the keys."""
    done, failed = first(copy), pending(copy)
    settings = package.WriterSettings({}, True)
    return {
        "table show": lambda table: table.describe(),
        "table properties --all": lambda table: table.properties(unset=True),
        "table schema --as-of": lambda table: table.schema(done),
        "table schema --history": lambda table: table.schema_changes(),
        "timeline show": lambda table: table.timeline(archived=True),
        "timeline inspect": lambda table: table.instant(done),
        "commit list": lambda table: table.commits(archived=True),
        "checkpoint list": lambda table: table.checkpoints(archived=True),
        **{
            f"{name} list": lambda table, name=name: getattr(table.services, f"{name}s")(archived=True)
            for name in SERVICES
        },
        **{f"{name} show": lambda table, name=name: table.services.files(name, done) for name in SERVICES},
        "compaction validate": lambda table: table.services.validate_compaction(failed),
        "commit show": lambda table: table.commit_files(done),
        "commit diff": lambda table: table.commit_differences(package.open(copy.path)),
        "savepoint list": lambda table: table.savepoints(),
        "savepoint show": lambda table: (list(table.savepoint_files(done)), table.verify_savepoint(done, idle_ms=0))[1],
        "failed-writes list": lambda table: table.writers.failed_writes(),
        "wait": lambda table: table.wait(["no-writers", f"instant={done}"], timeout_ms=0, idle_ms=0),
        "heartbeat list": lambda table: table.writers.heartbeats(),
        "marker list": lambda table: table.writers.markers(),
        f"marker list {failed}": lambda table: table.writers.markers_of(failed),
        "orphans list": lambda table: table.files.orphans(),
        "file slices": lambda table: table.slices(),
        "file explain": lambda table: table.files.explain(FILE),
        "file history": lambda table: table.files.history(FILE, archived=True),
        "record find": lambda table: table.records.find("17"),
        "record duplicates": lambda table: table.records.duplicates(everywhere=True),
        "record history": lambda table: table.records.history("17", archived=True),
        "partition list": lambda table: table.partitions(),
        "stats sizes": lambda table: table.files.sizes(by="commit"),
        "stats skew": lambda table: table.files.skew(),
        "stats amplification": lambda table: table.amplification(archived=True),
        "stats phases": lambda table: table.phases(archived=True),
        "log verify": lambda table: table.log().verify().rows,
        "log inspect": lambda table: table.log(partition="part-0").blocks(),
        "log records": lambda table: [*islice(package.logs_at([f"{copy.path}/part-0/.*.log.*"]).records(), 5)],
        "metadata files": lambda table: table.metadata.listed_files("part-0"),
        "metadata partitions": lambda table: table.metadata.partitions(),
        "metadata columns": lambda table: table.metadata.columns("part-0/a.parquet"),
        "metadata lookup": lambda table: table.metadata.lookup("17"),
        "metadata verify": lambda table: table.metadata.verify_indexes()[0],
        "lock show": lambda table: table.writers.locks(),
        "check": lambda table: [{"table": table.uri} | plain(row) for row in table.check(settings).findings],
        "why archive": lambda table: table.why("archive", settings),
        "why clean": lambda table: table.why("clean", settings),
        "why compaction": lambda table: table.why("compaction", settings),
        "undo list": lambda table: table.undos(),
        "copy": lambda table: table.copy(f"{copy.path}-copied", done).plan().plan,
        "history": lambda table: table.history(),
        "history show": lambda table: table.operation(done),
    }


def _instants(service: str, table: HudiTable) -> Rows[Any]:
    found: Rows[Any] = getattr(table.services, f"{service}s")(archived=True)
    return found


def _files(service: str, instant: str, table: HudiTable) -> Rows[Any]:
    return table.services.files(service, instant)


def call_of(words: str, known: Mapping[str, Call]) -> Call | None:
    """The call of a command line: that of the longest key that it begins with."""
    keys = [key for key in known if words == key or words.startswith(f"{key} ")]
    return known[max(keys, key=len)] if keys else None


def test_each_command_has_its_call_or_a_reason(unpack: Unpack) -> None:
    """A new command is in none of these."""
    leaves = {name for name, command in every_command(hudictl) if not isinstance(command, click.Group)}
    commands = leaves | CHANGES.keys() | {"history"}
    keys = calls(unpack("v9", "mor_failed_lazy"))
    shown = {name for name in commands for key in keys if key == name or key.startswith(f"{name} ")}
    assert commands - shown - WITHOUT.keys() - CHANGES.keys() == set()
    assert (WITHOUT.keys() | CHANGES.keys()) <= {name for name, _ in every_command(hudictl)}
    table = package.open(unpack("v9", "cow_part").path)
    assert all(attrgetter(method)(table) for method in CHANGES.values())


@pytest.fixture
def in_environment(monkeypatch: pytest.MonkeyPatch) -> Callable[[Copy], None]:
    """Names the table where the commands in hints do not repeat it."""
    return lambda copy: monkeypatch.setenv("HUDICTL_TABLE", str(copy.path))


def by_library(table: HudiTable, call: Call) -> tuple[Any, Any]:
    """What a call gives, as JSON, and the notes of a list; of an error what commands print of it."""
    try:
        found = call(table)
        value = plain([*found] if isinstance(found, (Rows, tuple)) else found)
        return value, plain(found.notes) if isinstance(found, Rows) else None
    except HudictlError as error:
        return [error.slug, error.message, error.hint], None


@pytest.mark.slow
@pytest.mark.short("v6-mor_failed_lazy", "v9-mor_savepoints")
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_every_look(
    unpack: Unpack, tell: Tell, in_environment: Callable[[Copy], None], version: str, name: str
) -> None:
    copy = unpack(version, name)
    in_environment(copy)
    before = tree(copy.path, OWN)
    known = calls(copy)
    wrong = {}
    with package.open(copy.path, engine="local") as table:
        for command in looks(copy):
            call = call_of(str(command), known)
            if call is None:
                assert str(command).startswith(tuple(WITHOUT))
                continue
            # The environment chooses the engine, too.
            said = tell(*(word for word in command.words if word not in ("--engine", "local")), "-o", "json")
            if said.out:
                shown = said.json["rows" if "rows" in said.json else "result"]
                told = said.json["notes"]
            else:
                shown = [said.error[key] for key in ("slug", "message", "hint")]
            found, notes = by_library(table, call)
            if settled(shown) != settled(found):
                wrong[str(command)] = (shown, found)
            elif notes is not None and settled(told) != settled(notes):
                wrong[str(command)] = (told, notes)
    assert wrong == {}
    assert tree(copy.path, OWN) == before
