"""How many requests an object store gets: the table in benchmarks/README.md, which a change that asks more fails."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from benchmarks.table import TablePlan, generate, yesterday
from tests.cli.conftest import Tell
from tests.s3 import S3, Application, Environment, Start

pytestmark = pytest.mark.slow

KINDS = ("LIST", "GET", "HEAD", "PUT", "DELETE")
COMMANDS = ("timeline show", "savepoint create", "check", "rollback", "restore")


class Requests:
    """What a store was asked, by kind and key."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, str]] = Counter()

    def __call__(self, environment: Environment, start: Start, application: Application) -> Iterable[bytes] | None:
        method, query = environment["REQUEST_METHOD"], parse_qs(environment["QUERY_STRING"], keep_blank_values=True)
        if method == "GET" and "list-type" in query:
            self.seen["LIST", query.get("prefix", [""])[0]] += 1
        elif method == "POST":
            self.seen["DELETE", ""] += 1
        else:
            self.seen[method, environment["PATH_INFO"]] += 1
        return None

    def counted(self) -> dict[str, int]:
        return {kind: sum(count for (found, _), count in self.seen.items() if found == kind) for kind in KINDS}


def documented(partitions: int) -> dict[str, dict[str, int]]:
    """The numbers in the README."""
    text = Path("benchmarks/README.md").read_text().replace(",", "")
    rows = re.findall(rf"^\| ([a-z ]+) \| {partitions} \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.M)
    return {command: dict(zip(KINDS, map(int, numbers), strict=True)) for command, *numbers in rows}


@pytest.mark.parametrize("partitions", [10, pytest.param(1000, marks=pytest.mark.full)])
def test_no_command_asks_more_than_is_documented(s3: S3, tell: Tell, tmp_path: Path, partitions: int) -> None:
    plan = TablePlan(partitions, 3, 1, yesterday())
    generate(str(tmp_path / "table"), plan)
    prefix = f"requests/{partitions}"
    uri = s3.upload(tmp_path / "table", prefix)
    arguments = {
        "savepoint create": [plan.savepoint, "--yes", "--engine", "local"],
        "check": ["--engine", "local"],
        "rollback": [plan.instants[-1], "--yes", "--engine", "local", "--timezone", "UTC"],
        "restore": [plan.savepoint, "--yes", "--engine", "local", "--timezone", "UTC"],
    }
    found = {}
    for command in COMMANDS:
        requests = Requests()
        with s3.interfering(requests):
            said = tell(*command.split(), "-t", uri, *arguments.get(command, []), *s3.arguments)
        assert said.code == 0, said.err
        found[command] = requests.counted()
    told = documented(partitions)
    more = {
        (command, kind): (count, told[command][kind])
        for command, counts in found.items()
        for kind, count in counts.items()
        # A slow host is some heartbeats later.
        if not told[command][kind] - 3 <= count <= told[command][kind] + (1 if kind == "PUT" else 0)
    }
    assert more == {}
