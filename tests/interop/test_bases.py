"""Tables whose base files are ORC, HFile or Lance: what Hudi reads and writes after hudictl has changed them.

Of some of them Hudi's Spark reader reads no snapshot (``make_bases.UNREAD``): there its file slices are compared.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hudictl.cli.main import run
from tests import support
from tests.helpers import drop
from tests.interop import product
from tests.interop.judge import Judge, start
from tests.interop.killed import assert_listed_alike
from tests.interop.make_bases import options_of
from tests.interop.make_overlaps import rows
from tests.interop.scenarios import Row, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str, str], Judge]
TABLES = pytest.mark.parametrize(("version", "name"), support.base_tables())
READ_IN_ORC = [table for table in support.base_tables() if "orc" in table[1] and support.base_facts(*table)["read"]]


@pytest.fixture(scope="module")
def judges(judge: Callable[[str], Judge]) -> Iterator[Judges]:
    """By version and table: Lance needs one with its libraries."""
    with ExitStack() as stack:
        lance: list[Judge] = []

        def get(version: str, name: str) -> Judge:
            if not name.startswith("lance"):
                return judge(version)
            if not lance:
                lance.append(stack.enter_context(start(version, lance=True)))
            return lance[0]

        yield get


def unpacked(version: str, name: str, folder: Path) -> tuple[Path, dict[str, str], dict[str, Any]]:
    facts = support.base_facts(version, name)
    return support.unpack(version, name, folder), facts["instants"], facts


def written(*names: str) -> dict[int, Row]:
    """The rows after some of the writes of ``make_bases.fill``."""
    every = {
        "first": rows("abc", 1),
        "S": rows("ab", 2, range(0, 30, 2)),
        "L1": rows("abc", 3, range(36)),
        "L2": rows("bc", 4, range(0, 36, 2)),
    }
    return {row[0]: row for name in names for row in every[name]}


def is_as_after(hudi: Judge, base: Path, name: str, facts: dict[str, Any], known: dict[int, Row]) -> None:
    """Hudi reads exactly these rows, and by listing the same files as through the metadata table; then it writes."""
    assert_listed_alike(hudi, base)
    if facts["read"]:
        assert hudi.both_rows(base) == digest(known.values())
    more = rows("abc", 9, range(0, 45, 5))
    hudi.upsert(base, more, options=options_of(name))
    assert_listed_alike(hudi, base)
    if facts["read"]:
        assert hudi.both_rows(base) == digest((known | {row[0]: row for row in more}).values())


@pytest.mark.full
@pytest.mark.short("v9-lance_mor")
@TABLES
def test_a_restore(judges: Judges, version: str, name: str, tmp_path: Path) -> None:
    base, instants, facts = unpacked(version, name, tmp_path)
    hudi = judges(version, name)
    if facts["read"]:
        assert facts["rows"][instants["S"]] == digest(written("first", "S").values())
    assert product.command(base, "restore", instants["S"], idle="0s") == 0
    slices = hudi.slices(base)
    assert {one[2] for one in slices} <= {instants["first"], instants["S"]}
    assert len(hudi.files(base)) >= 3
    is_as_after(hudi, base, name, facts, written("first", "S"))


@pytest.mark.full
@pytest.mark.short("v9-orc_mor")
@TABLES
def test_rollbacks(judges: Judges, version: str, name: str, tmp_path: Path) -> None:
    """The write that died, then the last one that was completed."""
    base, instants, facts = unpacked(version, name, tmp_path)
    hudi = judges(version, name)
    assert product.clean_failed(base, policy="lazy", interval="1s") == 0
    if facts["read"]:
        assert hudi.both_rows(base) == facts["rows"][instants["L2"]]
    assert product.rollback(base, instants["L2"]) == 0
    is_as_after(hudi, base, name, facts, written("first", "S", "L1"))


@pytest.mark.full
@TABLES
def test_hudi_restores_to_a_savepoint_of_hudictl(judges: Judges, version: str, name: str, tmp_path: Path) -> None:
    base, instants, facts = unpacked(version, name, tmp_path)
    hudi = judges(version, name)
    assert product.savepoint(base, instants["L2"]) == instants["L2"]
    assert product.clean_failed(base, policy="lazy", interval="1s") == 0
    hudi.upsert(base, rows("abc", 8), options=options_of(name))
    hudi.restore(base, instants["L2"], {"hoodie.cleaner.policy.failed.writes": "LAZY"})
    is_as_after(hudi, base, name, facts, written("first", "S", "L1", "L2"))


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_hudi_creates_a_metafile_in_orc_again(judges: Judges, version: str, tmp_path: Path) -> None:
    """As ``check`` says of a damaged one."""
    base, *_ = unpacked(version, "orc_cow", tmp_path)
    assert product.clean_failed(base, policy="lazy", interval="1s") == 0
    metafile = base / "b/.hoodie_partition_metadata.orc"
    drop(metafile)
    judges(version, "orc_cow").upsert(base, rows("b", 9), options=options_of("orc_cow"))
    assert metafile.exists()


@pytest.mark.full
@pytest.mark.parametrize(("version", "name"), READ_IN_ORC)
def test_merged_records_of_orc(
    judges: Judges, version: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each row of each file group, as Hudi reads it."""
    base, *_ = unpacked(version, name, tmp_path)
    found = []
    for path in [path for path in judges(version, name).files(base) if path.endswith(".orc")]:
        capsys.readouterr()
        line = ["log", "records", "--merged", str(base / path), "--columns", "id,ts,val,p", "--limit", "0", "-o"]
        assert run([*line, "ndjson"]) == 0
        found += [json.loads(text)["record"] for text in capsys.readouterr().out.splitlines()]
    assert sorted([row["id"], row["ts"], row["val"]] for row in found) == judges(version, name).read(base)
