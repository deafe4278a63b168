"""The merge of a file slice's records, base file and logs, as Hudi's readers do it, by the rule of a table.

The rules are those of the release that writes the table's version (see ``rules``): 0.15.0, 1.0.2 or 1.2.0.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from typing import Any, Generic, TypeVar

from hudictl.formats.delete_records import ARRAY, DeleteRecord, OrderingValue
from hudictl.formats.log_blocks import COMPACTED_BLOCK_TIMES, Block
from hudictl.formats.releases import V0_15, V1_0, V1_2
from hudictl.formats.wrappers import DECIMAL, LOCAL_DATE, decimal_of

COMMIT_TIME = "COMMIT_TIME_ORDERING"
EVENT_TIME = "EVENT_TIME_ORDERING"

IGNORE_DEFAULTS = "IGNORE_DEFAULTS"
FILL_UNAVAILABLE = "FILL_UNAVAILABLE"

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_EPOCH_DAY = date(1970, 1, 1)

Row = Mapping[str, Any]
Source = TypeVar("Source")


@dataclass(frozen=True)
class MergeRule:
    """How a table merges two records with the same key.

    ``ordering`` are the ordering fields, empty if only commit times order. ``marker`` is a column, and its value that
    marks a deleted record, if the table's properties name one. ``partial``: a partial row was read already. ``fill`` is
    the table's mode of partial updates (1.1 on): some columns of the winning row come from the losing one, those with
    their ``defaults``, or those with the value ``unavailable``. ``deletes_win``: a row marked as deleted always wins
    over the base file (EventTimeAvroPayload of 0.15.0).
    """

    release: str
    mode: str
    ordering: tuple[str, ...]
    marker: tuple[str, str] | None = None
    partial: bool = False
    fill: str | None = None
    unavailable: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    deletes_win: bool = False

    @property
    def payloads(self) -> bool:
        """Whether payload classes merge."""
        return self.release == V0_15

    @property
    def ordered_logs(self) -> bool:
        """Whether ordering values count among logs. With payload classes they count in any mode, except nested fields:
        these count only against the base file (0.15.0)."""
        if self.payloads:
            return not any("." in name for name in self.ordering)
        return self.mode == EVENT_TIME

    @property
    def blind(self) -> bool:
        """Whether ordering values are ignored between a row and a key of a delete block: among logs a later row wins,
        and the key wins over the base file (0.15.0; 1.0.2 from the first partial row on)."""
        return self.payloads or (self.release == V1_0 and self.partial)


@dataclass(frozen=True, slots=True)
class Buffered(Generic[Source]):
    """A record on its way through the merge, Hudi's BufferedRecord.

    ``row`` is None for a key of a delete block; ``ordering`` None where no ordering value counts; a ``partial`` row has
    some columns only. ``source`` is the caller's.
    """

    key: str
    row: Row | None
    ordering: tuple[Any, ...] | None
    deleted: bool
    partial: bool
    source: Source

    @property
    def deleted_by_commit(self) -> bool:
        """A delete without ordering value: it deletes every earlier version of the record."""
        return self.deleted and self.ordering is None


def in_merge_order(blocks: Sequence[Block], release: str) -> list[int]:
    """The numbers of the blocks that a merge takes, in its order.

    From 1.1 on, a block of a log compaction replaces the blocks of the instants that it names, at the place of the
    newest one. Older releases read it like any other block, after the blocks that it repeats.

    Args:
        blocks: those whose instants count and are not rolled back, in reading order.
    """
    if release != V1_2:
        return list(range(len(blocks)))
    instants: dict[str, list[int]] = {}
    for number, block in enumerate(blocks):
        instants.setdefault(block.instant or "", []).append(number)
    compacted: dict[str, str] = {}
    taken: list[str] = []
    for instant in reversed(instants):
        times = blocks[instants[instant][0]].header.get(COMPACTED_BLOCK_TIMES)
        if times:
            compacted |= dict.fromkeys(times.split(","), compacted.get(instant, instant))
        else:
            place = compacted.get(instant, instant)
            taken += [] if place in taken else [place]
    return [number for instant in reversed(taken) for number in instants[instant]]


def data_record(
    rule: MergeRule, key: str, row: Row, millis: frozenset[str], source: Source, *, partial: bool = False
) -> Buffered[Source]:
    """A record of a data block or base file. ``millis`` are the columns whose timestamps are in milliseconds."""
    values = tuple(comparable(value_of(row, name), name in millis) for name in rule.ordering)
    ordering = None if not values or None in values else values
    marked = rule.marker is not None and str(row.get(rule.marker[0])) == rule.marker[1]
    deleted = row.get("_hoodie_is_deleted") is True or row.get("_hoodie_operation") == "D" or marked
    return Buffered(key, row, ordering, deleted, partial, source)


def delete_record(record: DeleteRecord, source: Source) -> Buffered[Source]:
    """A key of a delete block."""
    ordering = None
    if record.ordering is not None and record.has_ordering:
        value = ordering_value(record.ordering)
        ordering = value if isinstance(value, tuple) else (value,)
    return Buffered(record.record_key or "", None, ordering, True, False, source)


def merge_logs(rule: MergeRule, records: Iterable[Buffered[Source]]) -> dict[str, Buffered[Source]]:
    """What the logs of a slice say of each key, in the order in which keys appear.

    Args:
        records: of all blocks, in the order of the merge.
    """
    merged: dict[str, Buffered[Source]] = {}
    for new in records:
        if new.partial and not rule.partial:
            rule = replace(rule, partial=True)
        old = merged.get(new.key)
        merged[new.key] = new if old is None else _merged(rule, old, new, _wins_among_logs(rule, old, new))
    return merged


def merge_base(
    rule: MergeRule, base: Iterable[Buffered[Source]], logs: dict[str, Buffered[Source]], with_deleted: bool = False
) -> Iterator[Buffered[Source]]:
    """The records that a reader gets: the base file's, in its order, then those that only logs have. ``with_deleted``:
    also those that it does not get because they are deleted.

    Args:
        rule: with ``partial`` where any row in the logs is.
        logs: from ``merge_logs``; is emptied.
    """
    # A base file may have a key twice. From 1.0 on the logs count for each of its rows, in 0.15.0 for the first alone.
    merged: dict[str, Buffered[Source]] = {}
    for old in base:
        new = logs.pop(old.key, None) or merged.get(old.key)
        if new is not None and not rule.payloads:
            merged[old.key] = new
        found = old if new is None else _merged(rule, old, new, _wins_over_base(rule, old, new))
        if with_deleted or not found.deleted:
            yield found
    while logs:
        found = logs.pop(next(iter(logs)))
        if with_deleted or not found.deleted:
            yield found


def _wins_among_logs(rule: MergeRule, old: Buffered[Any], new: Buffered[Any]) -> bool:
    if not rule.ordered_logs:
        return True
    if rule.blind and old.row is None and new.row is not None:
        return True
    if old.deleted_by_commit and not rule.payloads:
        return new.row is not None  # another delete would add nothing
    return not _greater(old, new)


def _wins_over_base(rule: MergeRule, old: Buffered[Any], new: Buffered[Any]) -> bool:
    if rule.mode == COMMIT_TIME or (rule.blind and new.row is None) or (rule.deletes_win and new.deleted):
        return True
    return not _greater(old, new)


def _greater(old: Buffered[Any], new: Buffered[Any]) -> bool:
    """Whether the older record has the greater ordering value; False if one of them has none."""
    if old.ordering is None or new.ordering is None:
        return False
    try:
        return bool(old.ordering > new.ordering)
    except TypeError:  # of different types, after the column's type was changed: then the later one wins
        return False


def _merged(rule: MergeRule, old: Buffered[Source], new: Buffered[Source], new_wins: bool) -> Buffered[Source]:
    winner, loser = (new, old) if new_wins else (old, new)
    if winner.deleted or loser.deleted or winner.row is None or loser.row is None:
        return winner
    if winner.partial:
        return replace(winner, row={**loser.row, **winner.row}, partial=loser.partial)
    return replace(winner, row=_filled(rule, winner.row, loser.row)) if rule.fill else winner


def _filled(rule: MergeRule, row: Row, older: Row) -> Row:
    if rule.fill == FILL_UNAVAILABLE:
        unavailable = (rule.unavailable, rule.unavailable.encode())
        return {name: older.get(name) if value in unavailable else value for name, value in row.items()}
    said = {name: value for name, value in row.items() if value is not None and value != rule.defaults.get(name)}
    return {**older, **said}


def value_of(row: Row, name: str) -> Any:
    """A column, or with dots in its name a field within one."""
    found: Any = row
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def comparable(value: Any, millis: bool) -> Any:
    """A column's value as the ordering value of a delete record has it."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return (aware - _EPOCH) // timedelta(microseconds=1000 if millis else 1)
    return value


def ordering_value(found: OrderingValue) -> Any:
    """As a column would have it, but for timestamps, which are numbers; of several ordering fields a tuple.

    A value out of range is returned as on disk.
    """
    if found.type == ARRAY:
        return tuple(None if value is None else ordering_value(value) for value in found.value)
    try:
        if found.type in ("DateWrapper", LOCAL_DATE):
            return _EPOCH_DAY + timedelta(days=found.value)
        if found.type == DECIMAL:
            return decimal_of(found.value)
    except (OverflowError, ValueError):
        pass
    return found.value
