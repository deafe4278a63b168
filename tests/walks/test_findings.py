"""Which findings the past of a walk's table explains."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hudictl.formats.commit_metadata import decode
from hudictl.reports.health.families import NAMES
from tests import support
from tests.interop.killed import data_files, timeline_files
from tests.walks.findings import AFTER, ALWAYS, AT_ONCE, BROKEN, BY_0_15, bare, missed, of_hudi, unexpected
from tests.walks.product import Answer
from tests.walks.shape import by_chance
from tests.walks.table import DEATH, FAILURE, Table
from tests.walks.walk import BY_NAME


def found(table: Table, *names: str, code: int = 3) -> list[str]:
    """Those of some findings that nothing explains."""
    rows = json.dumps({"rows": [{"finding": name} for name in names]})
    left = unexpected(table, Answer(("check",), code, rows, ""))
    return [json.loads(row)["finding"] for row in left] if code in (0, 3) else left


def table_of(version: str, *past: str) -> Table:
    timeline = [["20261127120000000", "commit", "COMPLETED", "20261127120001000"]]
    hudi = cast(Any, SimpleNamespace(version=version, timeline=lambda _: timeline))
    return Table(hudi, Path("nowhere"), by_chance(Random(1)), past=set(past))


def test_of_a_table_without_past_only_what_is_moved_aside_is_expected() -> None:
    assert found(table_of("v9"), "metadata-table-leftover", "stale-markers") == ["stale-markers"]


def test_what_only_a_death_leaves_is_expected_after_one() -> None:
    assert found(table_of("v9", DEATH), "stale-markers", "missing-file") == ["missing-file"]


def test_what_only_the_oldest_hudi_leaves_is_expected_of_that() -> None:
    assert found(table_of("v6"), *BY_0_15) == []
    assert found(table_of("v9"), *BY_0_15) == list(BY_0_15)


def test_a_savepoint_may_lack_what_never_was() -> None:
    rows = [
        {"finding": "listed-files-missing", "meaning": "1 file listed (.one.log.1_0), but missing on storage"},
        {"finding": "savepoint-broken", "meaning": "it cannot be restored completely; missing: p/.one.log.1_0"},
        {"finding": "savepoint-broken", "meaning": "it cannot be restored completely; missing: p/.one.log.1_0, p/two"},
    ]
    left = unexpected(table_of("v6"), Answer(("check",), 3, json.dumps({"rows": rows}), ""))
    assert [json.loads(row) for row in left] == rows[2:]


@pytest.mark.parametrize("step", sorted(AFTER))
def test_each_step_explains_its_own(step: str) -> None:
    assert found(table_of("v9", step), *AFTER[step]) == []
    assert found(table_of("v9"), *AFTER[step]) == list(AFTER[step])


def test_what_a_step_is_sure_to_leave_must_be_found() -> None:
    answer = Answer(("check",), 3, json.dumps({"rows": [{"finding": "times-not-kept"}]}), "")
    nothing = Answer(("check",), 0, json.dumps({"rows": []}), "")
    assert missed(table_of("v6"), "copied_without_times", nothing) == "times-not-kept"
    assert missed(table_of("v6"), "copied_without_times", answer) == ""
    assert missed(table_of("v9"), "copied_without_times", nothing) == ""


def test_what_an_index_beside_a_failed_write_costs_is_hudis() -> None:
    answer = Answer(("check",), 3, json.dumps({"rows": [{"finding": "metadata-table-behind"}]}), "")
    table = table_of("v6")
    assert not of_hudi(table, "late_index", answer)
    late = [["20261127120000000", "commit", "INFLIGHT", ""]]
    table = replace(table, hudi=cast(Any, SimpleNamespace(version="v6", timeline=lambda _: late)))
    assert of_hudi(table, "late_index", answer)
    assert not of_hudi(table, "upsert", answer)
    table = replace(table, hudi=cast(Any, SimpleNamespace(version="v8", timeline=lambda _: late)))
    assert not of_hudi(table, "late_index", answer)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_files_that_a_clean_took_are_missing_by_hudi_once_it_takes_back_what_replaced_them(
    version: str, tmp_path: Path
) -> None:
    table = replace(table_of(version), base=support.unpack(version, "cow_cluster", tmp_path))
    clustering = max(file for file in timeline_files(table.base) if file.suffix == ".replacecommit")
    groups = [group for ids in decode(clustering.read_bytes(), "").replaced.values() for group in ids]
    files = sorted(data_files(table.base))
    replaced = next(file for file in files if Path(file).name.startswith(groups[0]))
    other = next(file for file in files if not Path(file).name.startswith(tuple(groups)))
    with table.cleaning():
        (table.base / replaced).unlink()
        (table.base / other).unlink()
    answer = Answer(("check",), 3, json.dumps({"rows": [missing(replaced), missing(other)]}), "")
    assert bare(table, answer) == []
    assert len(unexpected(table, answer)) == 2
    table.taken_back({clustering.name[:17]})
    assert bare(table, answer) == [replaced]
    assert [json.loads(row)["subject"] for row in unexpected(table, answer)] == [other]
    assert of_hudi(table, "upsert", answer)


def missing(file: str) -> dict[str, str]:
    return {"finding": "missing-file", "subject": file}


def test_a_check_that_fails_is_a_finding() -> None:
    assert len(found(table_of("v9"), code=1)) == 1


def test_the_list_names_steps_and_findings_that_there_are() -> None:
    assert {*ALWAYS, *BY_0_15}.union(*AFTER.values()) <= NAMES
    assert AFTER.keys() <= {DEATH, FAILURE, *BY_NAME}
    assert {*AT_ONCE, *BROKEN} <= BY_NAME.keys()
