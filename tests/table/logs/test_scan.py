"""Fates of blocks: against scans as Hudi's readers do them, and each word of them by itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats.log_blocks import (
    AVRO_DATA,
    COMMAND,
    COMMAND_BLOCK_TYPE,
    COMPACTED_BLOCK_TIMES,
    DELETE,
    INSTANT_TIME,
    encode_block,
    encode_rollback_block,
)
from hudictl.storage.local import LocalStorage
from hudictl.table.logs.paths import find_logs
from hudictl.table.logs.reader import LogFile, in_slices
from hudictl.table.logs.scan import (
    AHEAD,
    CORRUPT_FATE,
    HIDDEN,
    REPLACED,
    ROLLED_BACK,
    UNCOMMITTED,
    UNKNOWN,
    VALID,
    ScanRule,
    judged_blocks,
    scan_rule,
)
from tests.table.conftest import Real, Small, base_of, put

TIMES = [f"2026112103000000{digit}" for digit in range(6)]
RELEASES = ("0.15.0", "1.0.2", "1.2.0")


class Made(NamedTuple):
    """A block to be written: of records, of a rollback where ``target`` is set, damaged without ``time``."""

    time: str | None
    target: str | None = None
    replaces: str | None = None

    def encode(self) -> bytes:
        if self.time is None:
            return encode_rollback_block(TIMES[0], TIMES[0])[:-8] + bytes(8)
        if self.target is not None:
            return encode_rollback_block(self.time, self.target)
        header = {INSTANT_TIME: self.time}
        if self.replaces is not None:
            header[COMPACTED_BLOCK_TIMES] = self.replaces
        return encode_block(AVRO_DATA, header, b"")


def rule(release: str = "0.15.0", completed: Sequence[str] = TIMES, pending: Sequence[str] = ()) -> ScanRule:
    return ScanRule(
        release, frozenset(completed), frozenset(pending), min(completed, default=""), max(completed, default="")
    )


def fates(folder: Path, logs: Sequence[Sequence[Made]], known: ScanRule | None) -> list[list[str]]:
    """Writes a slice, and the words for its blocks, log by log; where a block decides, with its log and place."""
    files = []
    for version, blocks in enumerate(logs, 1):
        name = f".f_{TIMES[0]}.log.{version}_0-1-0"
        body = b"".join(block.encode() for block in blocks)
        (folder / name).write_bytes(body)
        files.append(LogFile(LocalStorage(str(folder), "tmp"), None, "", name, len(body)))
    found: list[list[str]] = [[] for _ in logs]
    for one in judged_blocks(files, {log.name for log in files}, known):
        by = one.fate.by
        where = f" {by.file.partition('.log.')[2].partition('_')[0]}#{by.index}" if by else ""
        found[files.index(one.log)].append(one.fate.name + where)
    return found


BLOCKS = st.one_of(
    st.builds(Made, st.sampled_from(TIMES)),
    st.builds(Made, st.sampled_from(TIMES), st.sampled_from(TIMES)),
    st.just(Made(None)),
)


def scan_0_15(blocks: Sequence[Made], known: ScanRule) -> set[int]:
    """AbstractHoodieLogRecordReader.scanInternalV1 of 0.15.0, on numbers of blocks: those whose records come out."""
    queue: list[int] = []
    for number, block in enumerate(blocks):
        if block.time is None:
            queue.append(number)
            continue
        if block.time > known.last:
            break
        if block.target is not None:
            queue = [one for one in queue if blocks[one].time not in (None, block.target)]
        elif (block.time in known.completed or block.time < known.first) and block.time not in known.pending:
            queue.append(number)
    return {one for one in queue if blocks[one].time is not None}


def scan_1(blocks: Sequence[Made], known: ScanRule) -> set[int]:
    """The scan of 1.x: rollback blocks always work."""
    kept: set[int] = set()
    for number, block in enumerate(blocks):
        if block.target is not None:
            kept = {one for one in kept if blocks[one].time != block.target}
        elif block.time is not None and known.takes(block.time):
            kept.add(number)
    return kept


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.lists(BLOCKS, max_size=4), max_size=4),
    st.sets(st.sampled_from(TIMES)),
    st.sets(st.sampled_from(TIMES)),
    st.sampled_from(RELEASES),
)
def test_valid_is_what_a_scan_takes(
    tmp_path_factory: pytest.TempPathFactory,
    logs: list[list[Made]],
    completed: set[str],
    pending: set[str],
    release: str,
) -> None:
    known = rule(release, sorted(completed - pending), sorted(pending))
    found = [fate for fates_of in fates(tmp_path_factory.getbasetemp(), logs, known) for fate in fates_of]
    blocks = [block for log in logs for block in log]
    scan = scan_0_15 if release == "0.15.0" else scan_1
    numbers = {number for number, fate in enumerate(found) if fate == VALID and blocks[number].target is None}
    assert numbers == scan(blocks, known)
    assert all((fate == CORRUPT_FATE) == (block.time is None) for fate, block in zip(found, blocks, strict=True))


A, B, C, D = (Made(time) for time in TIMES[:4])


def test_rolled_back_by_the_next_rollback_block_behind(tmp_path: Path) -> None:
    """In the same log or a later one; what was written behind it stays."""
    logs = [[A, B, Made(TIMES[2], TIMES[0]), A], [A, B], [Made(TIMES[2], TIMES[1]), Made(TIMES[2], TIMES[0])]]
    valid = [VALID, VALID]
    assert fates(tmp_path, logs, rule()) == [
        [f"{ROLLED_BACK} 1#2", f"{ROLLED_BACK} 3#0", VALID, f"{ROLLED_BACK} 3#1"],
        [f"{ROLLED_BACK} 3#1", f"{ROLLED_BACK} 3#0"],
        valid,
    ]


def test_a_rollback_block_that_is_ahead_hides_what_follows(tmp_path: Path) -> None:
    """Hudi 0.15.0 stops there; to 1.x it is a rollback block as any other."""
    logs = [[A, B, Made(TIMES[5], TIMES[0])], [B, D, Made(TIMES[1], TIMES[1])]]
    done = TIMES[:3]
    assert fates(tmp_path, logs, rule(completed=done)) == [
        [VALID, VALID, AHEAD],
        [f"{HIDDEN} 1#2", UNCOMMITTED, f"{HIDDEN} 1#2"],
    ]
    assert fates(tmp_path, logs, rule("1.2.0", done)) == [
        [f"{ROLLED_BACK} 1#2", f"{ROLLED_BACK} 2#2", VALID],
        [f"{ROLLED_BACK} 2#2", UNCOMMITTED, VALID],
    ]


def test_blocks_of_a_log_compaction_replace_others(tmp_path: Path) -> None:
    """Also those of an earlier log compaction, but none that came later; one that is rolled back replaces nothing."""
    first, second = Made(TIMES[2], None, f"{TIMES[0]},{TIMES[1]}"), Made(TIMES[4], None, f"{TIMES[2]},{TIMES[3]}")
    logs = [[A, B, first], [A, D, second]]
    by = f"{REPLACED} 2#2"
    assert fates(tmp_path, logs, rule("1.2.0")) == [[by, by, by], [by, by, VALID]]
    assert fates(tmp_path, [[A, B, first, A]], rule("1.2.0")) == [[f"{REPLACED} 1#2", f"{REPLACED} 1#2", VALID, VALID]]
    undone = [[A, first, Made(TIMES[4], TIMES[2])]]
    assert fates(tmp_path, undone, rule("1.2.0")) == [[VALID, f"{ROLLED_BACK} 1#2", VALID]]
    assert fates(tmp_path, [[A, first]], rule("1.2.0", TIMES[:2])) == [[VALID, UNCOMMITTED]]


@pytest.mark.parametrize("release", ["0.15.0", "1.0.2"])
def test_older_releases_read_a_log_compaction_and_what_it_repeats(tmp_path: Path, release: str) -> None:
    logs = [[A, B], [Made(TIMES[2], None, f"{TIMES[0]},{TIMES[1]}")]]
    assert fates(tmp_path, logs, rule(release)) == [[VALID, VALID], [VALID]]


def test_without_a_timeline(tmp_path: Path) -> None:
    """What the blocks themselves say is known all the same."""
    logs = [[A, B, Made(None), Made(TIMES[2], TIMES[0])]]
    assert fates(tmp_path, logs, None) == [[f"{ROLLED_BACK} 1#3", UNKNOWN, CORRUPT_FATE, VALID]]


def test_blocks_that_say_nothing(small: Small) -> None:
    """No instant, or a command that nobody knows."""
    table = small(6, {f"{TIMES[0]}.deltacommit": b""})
    body = encode_block(DELETE, {}, b"") + encode_block(COMMAND, {INSTANT_TIME: TIMES[0], COMMAND_BLOCK_TYPE: "1"}, b"")
    put(table, f".f_{TIMES[0]}.log.1_0-1-0", body)
    logs, _ = find_logs([table.uri])
    assert [one.fate.name for one in judged_blocks(logs, {logs[0].name}, scan_rule(table))] == [UNKNOWN, UNKNOWN]


def test_another_format_is_refused_by_name(small: Small) -> None:
    table = small(6)
    put(table, f".f_{TIMES[0]}.log.1_0-1-0", b"HUDI" + bytes(20))
    logs, _ = find_logs([table.uri])
    with pytest.raises(Unsupported, match=r"\.f_.*older than log format version 1"):
        list(judged_blocks(logs, {logs[0].name}, None))


@pytest.mark.parametrize(("version", "release"), [(5, "0.15.0"), (6, "0.15.0"), (8, "1.0.2"), (9, "1.2.0")])
def test_the_rule_of_a_table(small: Small, version: int, release: str) -> None:
    """Older than the first completed write is archived; but not what is pending."""
    end = f"_{TIMES[3]}" if version >= 8 else ""
    names = [f"{TIMES[0]}.deltacommit.inflight", f"{TIMES[2]}{end}.deltacommit", f"{TIMES[3]}.deltacommit.inflight"]
    known = scan_rule(small(version, dict.fromkeys(names, b"")))
    assert (known.release, known.last) == (release, TIMES[2])
    assert [known.takes(time) for time in ("20260101000000000", *TIMES[:4])] == [True, False, True, True, False]


def test_no_timeline_folder(small: Small) -> None:
    table = small(9)
    (base_of(table) / ".hoodie/timeline").rmdir()
    with pytest.raises(Unreadable):
        scan_rule(table)


@pytest.mark.parametrize("version", [6, 9])
def test_a_metadata_table_waits_for_its_data_table(small: Small, version: int) -> None:
    """What is completed in it counts once it is not pending there; up to 0.15.0 only where the data table knows it."""
    end = f"_{TIMES[5]}" if version >= 8 else ""
    data = small(version, {f"{TIMES[2]}{end}.deltacommit": b"", f"{TIMES[3]}.deltacommit.inflight": b""})
    inner = ".hoodie/metadata/.hoodie"
    properties = (base_of(data) / ".hoodie/hoodie.properties").read_bytes()
    put(data, f"{inner}/hoodie.properties", properties)
    timeline = f"{inner}/timeline" if version >= 8 else inner
    for time in (TIMES[1], *TIMES[2:5], f"{TIMES[2]}001", "00000000000000010"):
        put(data, f"{timeline}/{time}{end}.deltacommit")
    put(data, f"{timeline}/{TIMES[5]}.deltacommit.inflight")
    put(data, f".hoodie/metadata/files/.files-0000-0_{TIMES[1]}.log.1_0-0-0")
    logs, _ = find_logs([f"{data.uri}/.hoodie/metadata/files"])
    assert logs[0].table is not None
    known = scan_rule(logs[0].table)
    assert [known.takes(time) for time in (f"{TIMES[2]}001", "00000000000000010")] == [True, True]
    counts = [known.takes(time) for time in TIMES[1:]]
    assert counts == [True, True, False, version >= 8, False]


FATES = {
    ("v6", "mor_failed_lazy"): {VALID: 11, UNCOMMITTED: 2},
    ("v8", "mor_failed_lazy"): {VALID: 20, UNCOMMITTED: 2},
    ("v9", "mor_failed_lazy"): {VALID: 20, UNCOMMITTED: 2},
    ("v6", "cow_cleaned"): {VALID: 56},
    ("v9", "cow_cdc"): {VALID: 22},
}


@pytest.mark.parametrize(("version", "name"), FATES)
def test_real_logs(real: Real, version: str, name: str) -> None:
    """Data table, metadata table and archive; a writer died in the first three."""
    base = base_of(real(version, name))
    folders = sorted({str(path.parent) for path in base.rglob(".*_*.[0-9]_*") if ".temp" not in str(path)})
    logs, notes = find_logs(folders)
    assert notes == []
    found: dict[str, int] = {}
    for members, asked in in_slices(logs):
        assert members[0].table is not None
        for one in judged_blocks(members, asked, scan_rule(members[0].table)):
            found[one.fate.name] = found.get(one.fate.name, 0) + 1
    assert found == FATES[version, name]
