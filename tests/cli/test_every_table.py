"""Every command on every sample table: each is answered or refused, and neither a look nor a plan changes anything."""

import pytest

from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.cli.every_command import looks
from tests.helpers import OWN, tree
from tests.interop.make_logs import log_files

pytestmark = pytest.mark.slow

ANSWERED = (0, 3)
REFUSED = (11, 12, 13)
LOOKS = [
    ("table", "show"),
    ("timeline", "show", "--archived"),
    ("savepoint", "list"),
    ("failed-writes", "list"),
    ("marker", "list"),
    ("heartbeat", "list"),
    ("lock", "show"),
    ("check", "--engine", "local"),
    ("orphans", "list", "--engine", "local"),
    ("metadata", "verify", "--engine", "local"),
    ("log", "slices", "--engine", "local"),
    ("log", "verify", "--engine", "local"),
    *(("why", service, "--assume-defaults") for service in ("archive", "clean", "compaction")),
]
PLANS = ("restore", "--to-instant"), ("rollback",), ("savepoint", "create", "--allow-pending")


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_every_look(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    before = tree(copy.path, OWN)
    commands = [(*command, "-t", copy.path) for command in LOOKS]
    if logs := log_files(copy.path):
        commands.append(("log", "inspect", *logs))
    for command in commands:
        said = tell(*command, "-o", "json")
        assert said.code in ANSWERED, (command, said.err)
        found = command[0] in ("check", "metadata") and said.json["rows"]
        blocked = command[0] == "why" and said.json["result"]["blocks"]
        assert (said.code == 3) == bool(found or blocked), command
    assert tree(copy.path, OWN) == before


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_every_document(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    """Of all commands that only show: ``tell`` holds each against its schema."""
    copy = unpack(version, name)
    answered = 0
    for command in looks(copy):
        at = () if command.words[:2] == ("log", "records") else ("-t", copy.path)
        # JSON goes out where the page would.
        words = [str(copy.path.parent / "page.html") if word == "-" else word for word in command.words]
        said = tell(*words, *at, "-o", "json")
        assert said.code in (*ANSWERED, 10, *REFUSED, 14), (command, said.err)
        answered += said.code in ANSWERED
    assert answered > 30


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_every_plan(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    """For each completed write; what a plan cannot take is refused by a guard, which says the way out."""
    copy = unpack(version, name)
    before = tree(copy.path, OWN)
    plans = [(*command, instant) for command in PLANS for instant in copy.commits]
    for command in (*plans, ("orphans", "delete"), ("failed-writes", "clean", "--policy", "eager")):
        said = tell(*command, "--plan", "--idle", "0s", "--engine", "local", "-t", copy.path, "-o", "json")
        assert said.code in (0, *REFUSED), (command, said.err)
        if said.code:
            assert said.error["hint"], command
    prune = ("savepoint", "prune", "--all", "--keep-last", "1", "--plan", "--engine", "local", "-t", copy.path)
    assert tell(*prune).code in (0, *REFUSED)
    assert tree(copy.path, OWN) == before
