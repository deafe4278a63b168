"""How records of a slice are merged; tests/ops/test_log_records.py and tests/interop hold it against the real Hudi."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from hudictl.errors import Unsupported
from hudictl.formats.delete_records import DeleteRecord, OrderingValue
from hudictl.formats.log_blocks import AVRO_DATA, COMPACTED_BLOCK_TIMES, INSTANT_TIME, Block
from hudictl.formats.record_merge import (
    COMMIT_TIME,
    EVENT_TIME,
    FILL_UNAVAILABLE,
    IGNORE_DEFAULTS,
    Buffered,
    MergeRule,
    data_record,
    delete_record,
    in_merge_order,
    merge_base,
    merge_logs,
    ordering_value,
)
from hudictl.formats.releases import V1_0
from hudictl.table.logs.merge import merge_rule
from tests.table.conftest import Small

OLD, NEW = "0.15.0", "1.2.0"
MODEL = "org.apache.hudi.common.model"
NONE = OrderingValue("IntWrapper", 0)
DIGITS_30 = Decimal("123456789012345.678901234567890")
PLAIN, AT_1, AT_9 = None, 1, 9
"""A delete without an ordering value, and with one."""


P_4 = ({"val": "p", "ts": 4},)


def row(ts: int | None, value: str = "", **more: Any) -> dict[str, Any]:
    return {"ts": ts, "val": value} | more


def merged(rule: MergeRule, base: dict[str, Any] | None, *steps: Any) -> Mapping[str, Any] | None:
    """The record that is left: of rows, partial rows (in a tuple), and deletes."""

    def data(found: Any, *, partial: bool = False) -> Buffered[None]:
        return data_record(rule, "k", found, frozenset(), None, partial=partial)

    def step(found: Any) -> Buffered[None]:
        if isinstance(found, dict):
            return data(found)
        if isinstance(found, tuple):
            return data(found[0], partial=True)
        ordering = NONE if found is None else OrderingValue("LongWrapper", found)
        return delete_record(DeleteRecord("k", "", ordering), None)

    logs = merge_logs(rule, map(step, steps))
    final = replace(rule, partial=any(isinstance(found, tuple) for found in steps))
    left = list(merge_base(final, [data(base)] if base else [], logs))
    assert len(left) < 2
    return left[0].row if left else None


def event(release: str) -> MergeRule:
    return MergeRule(release, EVENT_TIME, ("ts",))


def commit(release: str) -> MergeRule:
    return MergeRule(release, COMMIT_TIME, ("ts",))


@pytest.mark.parametrize(
    ("rule", "steps", "left"),
    [
        pytest.param(event(NEW), [row(4)], row(5), id="a smaller value loses against the base file"),
        pytest.param(event(NEW), [row(5, "tie")], row(5, "tie"), id="the later of equal ones wins"),
        pytest.param(event(NEW), [row(9, "a"), row(8, "b")], row(9, "a"), id="a smaller value loses among logs"),
        pytest.param(event(NEW), [AT_1], row(5), id="a delete with a smaller value loses"),
        pytest.param(event(NEW), [AT_9], None, id="a delete with a greater value wins"),
        pytest.param(event(NEW), [AT_9, row(8)], None, id="a smaller value loses against a delete"),
        pytest.param(event(NEW), [PLAIN], None, id="a delete without a value wins"),
        pytest.param(event(NEW), [PLAIN, row(6, "new")], row(6, "new"), id="what comes after such a delete wins"),
        pytest.param(event(NEW), [PLAIN, row(1)], row(5), id="but it merges with the base file again"),
        pytest.param(event(NEW), [PLAIN, AT_1], None, id="a delete stays without a value"),
        pytest.param(event(NEW), [row(6, _hoodie_is_deleted=True)], None, id="a row that says that it is deleted"),
        pytest.param(event(NEW), [row(6, _hoodie_operation="D")], None, id="a row of the operation D"),
        pytest.param(event(NEW), [row(1, _hoodie_is_deleted=True)], row(5), id="such a row with a smaller value"),
        pytest.param(event(NEW), [row(None, "none")], row(None, "none"), id="a row without a value"),
        pytest.param(event(NEW), [row(6, "a"), ({"ts": 7},)], row(7, "a"), id="a partial row over a whole one"),
        pytest.param(
            event(NEW), [({"ts": 7},), ({"val": "p", "ts": 6},)], row(7, "p"), id="partial rows, out of order"
        ),
        pytest.param(event(NEW), [P_4], row(5), id="a partial row with a smaller value"),
        pytest.param(event(NEW), [AT_9, ({"ts": 9},)], row(9), id="a partial row over a delete"),
        pytest.param(commit(NEW), [row(9), row(1, "last")], row(1, "last"), id="commit time: the last one"),
        pytest.param(commit(NEW), [AT_1], None, id="commit time: a delete with a smaller value"),
        pytest.param(commit(NEW), [({"val": "p", "ts": 1},)], row(1, "p"), id="commit time: a partial row"),
        pytest.param(
            commit(OLD), [row(9, "a"), row(8)], row(9, "a"), id="0.15: logs are ordered by value all the same"
        ),
        pytest.param(commit(OLD), [row(1, "last")], row(1, "last"), id="0.15: the base file is not"),
        pytest.param(event(OLD), [AT_1], None, id="0.15: any delete block wins over the base file"),
        pytest.param(event(OLD), [row(9, "a"), AT_1], row(9, "a"), id="0.15: but not among logs"),
        pytest.param(event(OLD), [AT_9, row(6, "b")], row(6, "b"), id="0.15: any row wins over a delete"),
    ],
)
def test_who_wins(rule: MergeRule, steps: list[Any], left: dict[str, Any] | None) -> None:
    """Over a row with the ordering value 5 in the base file."""
    assert merged(rule, row(5), *steps) == left


def test_rows_that_say_that_they_are_deleted_and_the_payload_classes_of_0_15(small: Small) -> None:
    """With a smaller value than the row in the base file."""
    for payload, left in (("DefaultHoodieRecordPayload", row(5)), ("EventTimeAvroPayload", None)):
        table = small(6, compaction_payload_class=f"{MODEL}.{payload}", table_precombine_field="ts")
        assert merged(merge_rule(table, OLD), row(5), row(1, _hoodie_is_deleted=True)) == left
        assert merged(merge_rule(table, OLD), row(5), row(1)) == row(5)


@pytest.mark.parametrize("release", [OLD, V1_0, NEW])
def test_a_base_file_with_a_key_twice(release: str) -> None:
    """Seen on each release: up to 0.15.0 a record of the logs counts for the first row alone."""
    rule = event(release)
    base = [data_record(rule, key, row(5), frozenset(), "base") for key in ("a", "a", "d", "d", "a")]
    logs = [data_record(rule, "a", row(6), frozenset(), "log"), delete_record(DeleteRecord("d", "", None), "log")]
    found = [(record.key, record.source) for record in merge_base(rule, base, merge_logs(rule, logs))]
    once = [("a", "log"), ("a", "base"), ("d", "base"), ("a", "base")]
    assert found == (once if release == OLD else [("a", "log")] * 3)


def test_records_that_only_logs_have_come_last() -> None:
    rule = event(NEW)
    base = [data_record(rule, key, row(5), frozenset(), "base") for key in ("b", "a", "d")]
    logs = [data_record(rule, key, row(6), frozenset(), "log") for key in ("z", "a", "y")]
    gone = [delete_record(DeleteRecord(key, "", None), "log") for key in ("d", "x")]
    found = merge_base(rule, base, merge_logs(rule, [*logs, *gone]))
    assert [(record.key, record.source) for record in found] == [
        ("b", "base"),
        ("a", "log"),
        ("z", "log"),
        ("y", "log"),
    ]


@pytest.mark.parametrize(
    ("columns", "deleted"),
    [
        (date(2024, 1, 2), OrderingValue("DateWrapper", 19724)),
        (datetime(2024, 1, 2, tzinfo=timezone.utc), OrderingValue("LongWrapper", 1704153600000000)),
        (datetime(2024, 1, 2), OrderingValue("TimestampMicrosWrapper", 1704153600000000)),
        (DIGITS_30, OrderingValue("DecimalWrapper", (123456789012345678901234567890).to_bytes(13, "big"))),
        ("b", OrderingValue("StringWrapper", "b")),
        (2.5, OrderingValue("DoubleWrapper", 2.5)),
    ],
)
def test_values_of_deletes_compare_with_those_of_columns(columns: Any, deleted: OrderingValue) -> None:
    rule = event(NEW)
    record = data_record(rule, "k", row(columns), frozenset(), None)
    assert record.ordering == delete_record(DeleteRecord("k", "", deleted), None).ordering


def test_milliseconds_stay_milliseconds() -> None:
    moment = datetime(2024, 1, 2, 0, 0, 0, 1000, tzinfo=timezone.utc)
    assert data_record(event(NEW), "k", row(moment), frozenset({"ts"}), None).ordering == (1704153600001,)  # type: ignore[arg-type]


def test_several_ordering_fields_compare_one_after_the_other() -> None:
    rule = MergeRule(NEW, EVENT_TIME, ("ts", "val"))
    value = OrderingValue("ArrayWrapper", (OrderingValue("LongWrapper", 5), OrderingValue("StringWrapper", "b")))
    deleted = delete_record(DeleteRecord("k", "", value), None)
    for base, left in ((row(5, "a"), 0), (row(5, "c"), 1), (row(4, "z"), 0)):
        found = merge_base(rule, [data_record(rule, "k", base, frozenset(), None)], merge_logs(rule, [deleted]))
        assert len(list(found)) == left
    assert ordering_value(value) == (5, "b")


def test_a_column_and_a_value_may_mark_deleted_records() -> None:
    rule = MergeRule(NEW, EVENT_TIME, ("ts",), ("val", "D"))
    assert merged(rule, row(5), row(6, "D")) is None
    assert merged(rule, row(5), row(6, "E")) == row(6, "E")


@pytest.mark.parametrize("mode", [EVENT_TIME, COMMIT_TIME])
def test_modes_of_partial_updates_fill_what_a_row_does_not_say(mode: str) -> None:
    """From the row that it wins over, whichever came first; never from a deleted one."""
    rule = MergeRule(NEW, mode, ("ts",), fill=IGNORE_DEFAULTS, defaults={"n": 7})
    assert merged(rule, row(5, "a", n=1, m=2), row(6, "b", n=7, m=None)) == row(6, "b", n=1, m=2)
    assert merged(rule, row(5, "a", n=1), row(6, "b", n=2, _hoodie_is_deleted=True)) is None
    assert merged(rule, None, row(5, "a", n=1), PLAIN, row(6, "b", n=None)) == row(6, "b", n=None)
    rule = MergeRule(NEW, mode, ("ts",), fill=FILL_UNAVAILABLE, unavailable="?")
    assert merged(rule, row(5, "a", n=b"x"), row(6, "?", n=b"?")) == row(6, "a", n=b"x")
    assert merged(rule, row(5, "a", n=1), row(6, "b", n=None)) == row(6, "b", n=None)


def test_an_older_row_that_wins_is_filled_too() -> None:
    rule = MergeRule(NEW, EVENT_TIME, ("ts",), fill=IGNORE_DEFAULTS)
    assert merged(rule, row(5, "a", n=None), row(4, "b", n=1)) == row(5, "a", n=1)


def test_an_ordering_field_within_a_column() -> None:
    """0.15.0 does not find it among logs."""
    rule = MergeRule(NEW, EVENT_TIME, ("at.ts",))
    first, low, empty = {"at": {"ts": 5}}, {"at": {"ts": 4}}, {"at": None}
    assert merged(rule, first, low) == first
    assert merged(rule, first, low, {"at": {"ts": 6}}) == {"at": {"ts": 6}}
    assert merged(rule, first, empty) == empty
    old = replace(rule, release=OLD)
    assert merged(old, first, low) == first
    assert merged(old, first, {"at": {"ts": 7}}, {"at": {"ts": 6}}) == {"at": {"ts": 6}}


def test_values_of_different_types_do_not_compare() -> None:
    """After the column's type was changed: the later one wins then."""
    assert merged(event(NEW), row("9"), row(1, "new")) == row(1, "new")  # type: ignore[arg-type]


def block(instant: str, compacted: str = "") -> Block:
    header = {INSTANT_TIME: instant} | ({COMPACTED_BLOCK_TIMES: compacted} if compacted else {})
    return Block(AVRO_DATA, 0, 0, 0, 0, header)


@pytest.mark.parametrize(
    ("blocks", "order"),
    [
        ([block("1"), block("2"), block("1")], [0, 2, 1]),
        ([block("1"), block("2"), block("3"), block("4", "1,2")], [3, 2]),
        ([block("1"), block("2"), block("3", "1,2"), block("4"), block("5", "3,4")], [4]),
        ([block("1"), block("4", "0")], [0]),
        ([block("1"), block("3"), block("4", "1"), block("4")], [2, 3, 1]),
    ],
)
def test_a_block_of_a_log_compaction_takes_the_place_of_the_newest_that_it_repeats(
    blocks: list[Block], order: list[int]
) -> None:
    assert in_merge_order(blocks, NEW) == order
    assert in_merge_order(blocks, OLD) == list(range(len(blocks)))


@pytest.mark.parametrize(
    ("properties", "mode", "ordering"),
    [
        ({"compaction_payload_class": f"{MODEL}.OverwriteWithLatestAvroPayload"}, COMMIT_TIME, ()),
        (
            {"compaction_payload_class": f"{MODEL}.EventTimeAvroPayload", "table_precombine_field": "ts"},
            EVENT_TIME,
            ("ts",),
        ),
        ({"compaction_payload_class": f"{MODEL}.DefaultHoodieRecordPayload"}, EVENT_TIME, ()),
        ({"record_merge_mode": COMMIT_TIME, "table_precombine_field": "ts"}, COMMIT_TIME, ("ts",)),
        ({"record_merge_mode": EVENT_TIME, "table_ordering_fields": "ts, val"}, EVENT_TIME, ("ts", "val")),
        ({"table_ordering_fields": "ts"}, EVENT_TIME, ("ts",)),
        ({}, COMMIT_TIME, ()),
    ],
)
def test_the_tables_properties_say_how_it_merges(
    small: Small, properties: dict[str, str], mode: str, ordering: tuple[str, ...]
) -> None:
    assert merge_rule(small(**properties), NEW) == MergeRule(NEW, mode, ordering)


def test_the_properties_name_the_mode_of_partial_updates_and_the_mark_of_deleted_records(small: Small) -> None:
    """As 1.2.0 writes them for a table of PostgresDebeziumAvroPayload."""
    own = "record_merge_property_hoodie"
    properties = {
        "record_merge_mode": EVENT_TIME,
        "table_ordering_fields": "lsn",
        "table_partial_update_mode": FILL_UNAVAILABLE,
        f"{own}_payload_delete_field": "op",
        f"{own}_payload_delete_marker": "d",
        f"{own}_write_partial_update_unavailable_value": "?",
    }
    rule = MergeRule(NEW, EVENT_TIME, ("lsn",), ("op", "d"), fill=FILL_UNAVAILABLE, unavailable="?")
    assert merge_rule(small(**properties), NEW) == rule


def test_without_any_of_them_0_15_merges_by_its_default_payload(small: Small) -> None:
    assert merge_rule(small(6, table_precombine_field="ts"), OLD) == MergeRule(OLD, COMMIT_TIME, ("ts",))


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"compaction_payload_class": "com.acme.Payload"}, "hoodie.compaction.payload.class=com.acme.Payload"),
        ({"record_merge_mode": "CUSTOM", "record_merge_strategy_id": "a-b"}, "hoodie.record.merge.mode=CUSTOM (a-b)"),
        ({"compaction_record_merger_strategy": "a-b"}, "hoodie.compaction.record.merger.strategy=a-b"),
        ({"table_partial_update_mode": "KEEP_VALUES"}, "hoodie.table.partial.update.mode=KEEP_VALUES"),
    ],
)
def test_what_is_not_known_is_refused_by_name(small: Small, properties: dict[str, str], said: str) -> None:
    with pytest.raises(Unsupported, match="hudictl does not know how to merge by ") as caught:
        merge_rule(small(**properties), NEW)
    assert said in caught.value.message
