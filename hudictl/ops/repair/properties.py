"""``table repair-properties``: hoodie.properties written again, from what is left of it and what the table proves."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timezone

from hudictl.errors import Refused
from hudictl.formats import properties as fmt
from hudictl.formats.layouts import LAYOUT, PROPERTIES, PROPERTIES_BACKUP
from hudictl.ops.guards import liveness
from hudictl.ops.repair.evidence import FIELDS, FORMAT, KEYS, Schema, columns_of, schema_of, votes_of
from hudictl.ops.repair.plan import FileRepair, RepairPlan
from hudictl.ops.session import Kind, Session, writable_signs
from hudictl.phrases import command_of
from hudictl.secrets import value_shown
from hudictl.state.facts import Facts, read_facts
from hudictl.table.copied import read_record
from hudictl.table.properties import intact
from hudictl.table.properties_known import known_properties, require_value
from hudictl.table.salvage import (
    KEYS_OF_VERSION,
    ORDERING,
    OWN_FILE,
    PRECOMBINE,
    VERSION,
    Salvage,
    read_salvage,
)
from hudictl.table.table import TYPE, Table

_REQUIRED = (fmt.NAME, VERSION, LAYOUT, TYPE, FORMAT, FIELDS, KEYS)
_SEVERAL = "hoodie.table.multiple.base.file.formats.enable"
_GENERATOR = "hoodie.table.keygenerator"
_GENERATORS = {"NON_PARTITION": "Nonpartitioned", "SIMPLE": "Simple", "COMPLEX": "Complex"}
_MODE, _STRATEGY = "hoodie.record.merge.mode", "hoodie.record.merge.strategy.id"
_PAYLOAD = "hoodie.compaction.payload.class"
_MERGER = "hoodie.compaction.record.merger.strategy"
_MODES = {
    "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5": "EVENT_TIME_ORDERING",
    "ce9acb64-bde0-424c-9b91-f6ebba25356d": "COMMIT_TIME_ORDERING",
}
"""By the strategy's id (1.0.2, 1.2.0)."""
_USUAL_ORDERING = "ts"
"""Hudi's default up to 1.0."""

Votes = dict[str, dict[str, list[str]]]
"""By property the values, each with what says it."""


def plan_properties_repair(session: Session, given: Mapping[str, str], idle_ms: int) -> RepairPlan:
    """Plans to write hoodie.properties again. Changes nothing; every guard has passed.

    Args:
        given: what the operator says of properties that nothing else proves.

    Raises:
        Refused: a property cannot be known that the table needs.
        UsageError: a value that Hudi does not take.
        Conflict: a writer or table service may be running.
        Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    table = session.table
    known = known_properties(table.version)
    for key, value in given.items():
        require_value(key, value, known)
    signs = writable_signs(session)
    found = read_salvage(table.storage)
    if found.damage and found.backup is not None:
        files = [_put_back(found, found.backup)]
        guessed: tuple[str, ...] = ()
    else:
        facts = read_facts(table, session.engine, signs, session.monitor.note, damaged_ok=True)
        files, guessed = _written_again(table, found, facts, given)
    if found.backup_body is not None and (files or found.backup is None or found.backup == found.body):
        why = "the file has its content" if found.backup is not None else "it is damaged"
        files.append(FileRepair(PROPERTIES_BACKUP, (why, "Hudi deletes it after each update")))
    if files:
        liveness.nothing_at_work(table, session.engine, signs, session.locking, idle_ms)
    return RepairPlan(Kind.PROPERTIES_REPAIR, PROPERTIES, tuple(files), session.lock, guessed=guessed)


def _put_back(found: Salvage, backup: bytes) -> FileRepair:
    reasons = (*found.damage, f"{PROPERTIES_BACKUP} is intact: its checksum is that of its names")
    return FileRepair(PROPERTIES, reasons, backup)


def _written_again(
    table: Table, found: Salvage, facts: Facts, given: Mapping[str, str]
) -> tuple[list[FileRepair], tuple[str, ...]]:
    """The file, and what of it is guessed; no file if it is sound. Raises Refused."""
    votes: Votes = defaultdict(lambda: defaultdict(list))
    for key, value, of in votes_of(facts):
        votes[key][value].append(of)
    unlike = dict(_unlike_the_data(found.own, facts, votes)) if not found.damage else {}
    damage = (*found.damage, *unlike.values())
    if not damage:
        return [], ()
    for source in found.sources:
        for key, value in source.values.items():
            if key not in unlike or source.values is not found.own:
                votes[key][value].append(source.of)
    _add_what_follows(table, found, votes, schema_of(table, facts.timeline), given)
    whole = found.body is not None and intact(found.body) is not None
    if unlike:
        # All other lines are sound.
        votes = {key: votes[key] for key in {*found.own, *unlike}}
    values, proofs = _decided(table, found, votes, given, unlike or _REQUIRED)
    moment = datetime.fromtimestamp(max(facts.timeline.modified_ms.values(), default=0) / 1000, timezone.utc)
    body = fmt.encode(values, moment)
    guessed = tuple(_guesses(table, values, proofs, whole))
    proven = [f"{_shown(key, values[key])}: {', '.join(of)}" for key, of in proofs.items() if len(of) > 1]
    return [FileRepair(PROPERTIES, (*damage, *proven), body)], guessed


def _unlike_the_data(own: Mapping[str, str], facts: Facts, votes: Votes) -> Iterator[tuple[str, str]]:
    """Properties of a file that can be read which cannot be those of the data, each with the reason."""
    if own.get(KEYS) and not own.get(FIELDS) and any(facts.partitions):
        yield FIELDS, f"it has no {FIELDS}, but there are partitions"
    form = own.get(FORMAT, "PARQUET")
    if votes[FORMAT] and form.upper() not in votes[FORMAT] and own.get(_SEVERAL) != "true":
        yield FORMAT, f"it says {FORMAT}={form}, but all base files are of another one"


def _add_what_follows(table: Table, found: Salvage, votes: Votes, schema: Schema, given: Mapping[str, str]) -> None:
    """Adds to the votes what others say together."""
    columns, ordering = columns_of(schema), _ordering(table)
    _of_version(table, found, votes)
    for key in (FIELDS, KEYS, ordering):
        for value, of in votes[key].items():
            if value and columns.issuperset(value.split(",")):
                of.append("columns of the newest schema")
    if not votes[ordering] and ordering not in given and _USUAL_ORDERING in columns:
        votes[ordering][_USUAL_ORDERING].append("Hudi's default, and there is such a column")
    _of_merging(table, votes, ordering, by_value=bool(votes[ordering] or given.get(ordering)))
    _of_generator(table, votes, given)
    checksum = found.own.get(fmt.CHECKSUM)
    for name, of in votes[fmt.NAME].items():
        for database in sorted({"", "default", *votes[fmt.DATABASE]}):
            if fmt.checksum({fmt.NAME: name, fmt.DATABASE: database}) == checksum:
                of.append(fmt.CHECKSUM)
                votes[fmt.DATABASE][database] += [fmt.CHECKSUM, fmt.NAME]


def _of_version(table: Table, found: Salvage, votes: Votes) -> None:
    """The table was opened by the version that is right: see ``table/salvage.py``."""
    of = votes[VERSION].pop(str(table.version), [])
    if table.layout.version == 1:
        of.append("the layout of the timeline")
    else:
        of += [f"{key}, which no other version has" for key in KEYS_OF_VERSION[table.version] & found.own.keys()]
    votes[VERSION] = {str(table.version): of} if of else {}


def _of_merging(table: Table, votes: Votes, ordering: str, *, by_value: bool) -> None:
    if table.version < 8:
        # 0.15.0 reads no logs without (NullPointerException).
        for key in () if table.is_cow else (_PAYLOAD, _MERGER):
            if not votes[key]:
                votes[key][known_properties(table.version)[key][1] or ""].append("Hudi's default")
    elif not votes[_MODE]:
        for strategy in votes[_STRATEGY]:
            votes[_MODE][_MODES.get(strategy, "CUSTOM")].append(f"{_STRATEGY}={strategy}")
        if not votes[_STRATEGY] and not votes[_PAYLOAD]:
            mode = "EVENT_TIME_ORDERING" if by_value else "COMMIT_TIME_ORDERING"
            votes[_MODE][mode].append(f"as Hudi infers it from {ordering}")


def _of_generator(table: Table, votes: Votes, given: Mapping[str, str]) -> None:
    """The usual generator for these fields of keys and partitions: values and paths are those of the columns."""
    fields, keys = (
        given.get(key) or max(votes[key], key=lambda value: len(votes[key][value]), default=None)
        for key in (FIELDS, KEYS)
    )
    if fields is None or not keys or votes[f"{_GENERATOR}.class"] or votes[f"{_GENERATOR}.type"]:
        return
    kind = "NON_PARTITION" if not fields else "COMPLEX" if "," in f"{fields}{keys}" else "SIMPLE"
    named = (f"{_GENERATOR}.type", kind)
    if table.version < 8:
        named = (f"{_GENERATOR}.class", f"org.apache.hudi.keygen.{_GENERATORS[kind]}KeyGenerator")
    votes[named[0]][named[1]] += ["the fields of keys", "the fields of partitions"]


def _ordering(table: Table) -> str:
    return ORDERING if table.version >= 9 else PRECOMBINE


def _decided(
    table: Table, found: Salvage, votes: Votes, given: Mapping[str, str], required: Collection[str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The properties, and of each what says it. Raises Refused: one that the table needs is not known."""
    own, values = found.own, dict[str, str]()
    proofs: dict[str, list[str]] = {}
    for key in [*own, *sorted({*votes, *given} - own.keys())]:
        said = votes.get(key, {})
        if key in given:
            values[key], proofs[key] = given[key], ["the operator", "this command"]
        elif key in own and key not in _REQUIRED and own[key] in said:
            values[key] = own[key]
        elif said:
            values[key] = max(said, key=lambda value: (len(said[value]), value == own.get(key)))
        if key in values:
            proofs.setdefault(key, said.get(values[key], []))
    missing = [key for key in required if key not in values]
    if missing:
        raise Refused(
            f"nothing says what {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'}",
            hint=f"give it: {' '.join(f'--set {key}=VALUE' for key in missing)}{_of_source(table)}",
            properties=missing,
        )
    values = {
        key: value for key, value in values.items() if value or key not in (KEYS, fmt.DATABASE) or key in found.merged
    }
    values[fmt.CHECKSUM] = fmt.checksum(values)
    proofs[fmt.CHECKSUM] = ["it is computed", "from the names of database and table"]
    return values, {key: proofs[key] for key in values}


def _of_source(table: Table) -> str:
    """Where the operator finds the values of a copy."""
    with suppress(ValueError):
        if record := read_record(table.storage):
            shown = command_of("table properties", options=[f"--table={record.source}"])
            return f"; this is a copy, and `{shown}` shows the values of its source"
    return ""


def _guesses(table: Table, values: Mapping[str, str], proofs: Mapping[str, list[str]], whole: bool) -> Iterator[str]:
    """What is written without two proofs, and what is left out."""
    alone = {key: of[0] for key, of in proofs.items() if len(set(of)) == 1}
    of_file = [_shown(key, values[key]) for key, of in alone.items() if of == OWN_FILE]
    if of_file and not whole:
        yield f"only the damaged file says: {', '.join(of_file)}"
    for key, of in alone.items():
        if of != OWN_FILE:
            yield f"{_shown(key, values[key])}: {of}"
    left = [
        f"{key} ({default})"
        for key, (_, default) in known_properties(table.version).items()
        if default and key not in values
    ]
    if left and not whole:
        yield f"not known, and left to Hudi's default: {', '.join(left)}"
    ordering = _ordering(table)
    if ordering not in values and not whole:
        yield f"{ordering} is left out: --set {ordering}=COLUMN if the table has one"


def _shown(key: str, value: str) -> str:
    return f"{key}={value_shown(key, value)}"
