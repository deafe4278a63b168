"""Instants that undo what other commits have done to file groups: real tables whose commits say more than they did."""

import json
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import Refused
from hudictl.formats import commit_metadata
from hudictl.ops.restore.plan import RestoreOptions, RestorePlan
from hudictl.render.plans import restore_lines
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR
from hudictl.state.timeline.overwritten import is_clustering, undone_by
from hudictl.state.timeline.removed import RULES
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.commits import LazyCommits, read_commit
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, first_command, plan, put

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def instants(copy: Copy) -> dict[str, str]:
    return dict(support.overlap_facts(copy.version, copy.name)["instants"])


def planned(copy: Copy, rule: str | None = None) -> RestorePlan:
    return plan(copy, instants(copy)["S"], RestoreOptions(to_instant=True, rule=rule))


def changes(copy: Copy, name: str = "S") -> str:
    """Now an instant has written into a file group of partition a that the clustering T has replaced, too."""
    timeline, times = load_timeline(copy.table), instants(copy)
    replaced = read_commit(copy.table, _write(timeline, times["T"])).replaced
    file = _write(timeline, times[name]).completed_files[0]
    path = copy.meta / Path(copy.table.layout.timeline).relative_to(".hoodie") / file.name
    body = path.read_bytes()
    stats: dict[str, list[dict[str, Any]]] = commit_metadata.read_record(body, file.name).fields[
        "partitionToWriteStats"
    ]
    one = {**next(iter(stats.values()))[0], "fileId": replaced["a"][0], "path": None}
    stats = {**stats, "a": [*stats.get("a", []), one]}
    changed = path.stat().st_mtime_ns
    put(path, commit_metadata.encode_like(body, stats, file.name))
    support.os.utime(path, ns=(changed, changed))
    return times[name]


def _write(timeline: Any, time: str) -> Any:
    return next(entry for entry in timeline.completed_writes() if entry.time == time)


def undone(copy: Copy) -> dict[str, frozenset[str]]:
    timeline = load_timeline(copy.table)
    commits, clustering = LazyCommits(copy.table, timeline), _write(timeline, instants(copy)["T"])
    assert is_clustering(copy.table, commits, clustering)
    return dict(undone_by(copy.table, commits, clustering, timeline.completed_writes()))


@VERSIONS
@pytest.mark.parametrize("name", ["cow_clustering", "mor_clustering"])
def test_what_undoes_the_target_goes_whatever_the_release_does(overlap: Unpack, version: str, name: str) -> None:
    copy = overlap(version, name)
    assert (undone(copy), [one.undoes for one in planned(copy).overlaps]) == ({}, [()])
    target = changes(copy)
    assert undone(copy) == {target: {"a"}}
    made = planned(copy)
    assert (made.rule, instants(copy)["T"] in made.undo.removed) == ("completion", True)
    assert [one.undoes for one in made.overlaps] == [(target,)]
    assert any("readers would not see what they saw at the target" in line for line in restore_lines(made))


@VERSIONS
def test_a_rule_that_is_asked_for_is_obeyed_and_the_plan_says_what_it_means(overlap: Unpack, version: str) -> None:
    copy = overlap(version, "cow_clustering")
    changes(copy)
    made = planned(copy, "requested")
    assert (made.rule, instants(copy)["T"] in made.undo.removed) == ("requested", False)
    assert any("readers will not see what they saw at the target" in line for line in restore_lines(made))


@pytest.mark.parametrize("version", ["v6", "v8"])
def test_another_kept_commit_counts_as_the_target_does(overlap: Unpack, version: str) -> None:
    """But not one that the restore removes."""
    copy = overlap(version, "cow_clustering")
    changes(copy, "L")
    assert planned(copy).rule == "requested"
    changes(copy, "S")
    assert planned(copy).rule == "completion"


def test_where_each_rule_keeps_it_the_restore_is_refused(overlap: Unpack) -> None:
    """On merge on read both rules compare a compaction by its requested time."""
    copy = overlap("v6", "mor_clustering")
    target = changes(copy)
    for path in list(copy.meta.glob(f"{target}.deltacommit*")):
        _, _, state = path.name.partition("deltacommit")
        path.rename(path.with_name(f"{target}.{'compaction' if state else 'commit'}{state}"))
    with pytest.raises(Refused, match=f"{instants(copy)['T']} replaces file groups that {target} has changed"):
        planned(copy)
    assert [planned(copy, rule).rule for rule in RULES] == [*RULES]


def overwrites(copy: Copy) -> tuple[str, str]:
    """Now S has overwritten what T was planned on, and T has found its file groups replaced, and written nothing."""
    clustering, overwrite = instants(copy)["T"], instants(copy)["S"]
    replaced = read_commit(copy.table, _write(load_timeline(copy.table), clustering)).replaced
    for time in (clustering, overwrite):
        for path in sorted(copy.meta.glob(f"{time}.*")):
            state = "".join(part for part in path.suffixes[-1:] if part in (".requested", ".inflight"))
            body = path.read_bytes()
            if not state:
                fields = json.loads(body) | {"partitionToReplaceFileIds": {"a": list(replaced["a"])}}
                if time == clustering:
                    fields["partitionToWriteStats"].pop("a")
                body = json.dumps(fields).encode()
            changed = path.stat().st_mtime_ns
            path.unlink()
            new = put(path.with_name(f"{time}.replacecommit{state}"), body)
            support.os.utime(new, ns=(changed, changed))
    return clustering, overwrite


def test_rows_that_neither_come_back_nor_stay_are_kept_by_the_other_rule(overlap: Unpack) -> None:
    copy = overlap("v6", "cow_clustering")
    target, overwrite = overwrites(copy)
    made = plan(copy, target, RestoreOptions(to_instant=True))
    assert (made.rule, overwrite in made.undo.removed) == ("completion", False)
    asked = plan(copy, target, RestoreOptions(to_instant=True, rule="requested"))
    assert (asked.rule, [one.bare for one in asked.overlaps]) == ("requested", [("a",)])
    assert any("The rows that it had replaced in a stay away" in line for line in restore_lines(asked))


def test_while_buckets_are_resized_updates_are_written_to_both(overlap: Unpack) -> None:
    copy = overlap("v9", "mor_clustering")
    changes(copy)
    assert undone(copy)
    put(copy.path / ".hoodie/.bucket_index/consistent_hashing_metadata/a/20250101000000000.hashing_meta")
    assert undone(copy) == {}


@VERSIONS
def test_check_finds_what_was_undone(overlap: Unpack, version: str) -> None:
    copy = overlap(version, "cow_clustering")
    times = instants(copy)
    assert [one.finding for one in check_table(copy.table, ENGINE, 600_000).findings] == []
    changes(copy)
    (found,) = [one for one in check_table(copy.table, ENGINE, 600_000).findings if one.finding == "changes-undone"]
    assert (found.severity, found.subject.split()[0]) == (ERROR, times["T"])
    assert f"file groups that {times['S']} has changed since it was planned, in 'a'" in found.meaning
    assert "later writes are built on it" in found.meaning
    assert first_command(found) == f"hudictl restore --to-instant={times['S']}"
