"""What savepoints name, by partition: the same as Hudi's own files say, wherever they are decoded."""

from collections.abc import Sequence

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.errors import Conflict, Unreadable
from hudictl.formats.avro import encode as encode_avro
from hudictl.formats.instants import SAVEPOINT, State
from hudictl.formats.savepoint import SCHEMA, SavepointMetadata, decode, encode
from hudictl.table.files import saved
from hudictl.table.files.decoded import names_of
from hudictl.table.files.saved import NOTHING_SAVED, SavedFiles, SavedNames, binding, gather_saved, kept_saved
from hudictl.table.files.slices import Committed
from hudictl.table.rules import rules_of
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline, read_instant
from tests import support
from tests.engine.elsewhere import Elsewhere
from tests.table.conftest import Real, Small

TIME = "20261121000000100"
LATER = "20261121000000200"
BASE, LOG, LATE = f"f-0_0-1-1_{TIME}.parquet", f".f-0_{TIME}.log.1_0-1-1", f".f-0_{LATER}.log.1_0-1-1"


def gathered(table: Table, engine: LocalEngine | None = None) -> SavedFiles:
    """Of the first savepoint."""
    timeline = load_timeline(table)
    file = next(entry.file(State.COMPLETED) for entry in timeline.having(SAVEPOINT))
    assert file is not None
    return gather_saved(table, file, timeline.sizes[file.name], engine or LocalEngine())


def named(found: SavedFiles) -> dict[str, set[str]]:
    return {path: {*names_of([entry])} for path, entry in found.files.engine.pairs(found.files)}


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
def test_it_names_what_hudi_has_written(real: Real, monkeypatch: pytest.MonkeyPatch, version: str, name: str) -> None:
    """A small one is decoded here, a large one by the engine."""
    table = real(version, name)
    timeline = load_timeline(table)
    file = next(entry.file(State.COMPLETED) for entry in timeline.having(SAVEPOINT))
    assert file is not None
    expected = {path: {*names} for path, names in decode(read_instant(table, file), file.name).files.items()}
    engine = Elsewhere()
    found = gathered(table, engine)
    assert (named(found), found.partitions, engine.items) == (expected, frozenset(expected), [])
    assert found.names_in([*expected, "unknown"]) == expected
    assert found.instants == {part for names in expected.values() for file in names for part in times_in(file)}
    monkeypatch.setattr(saved, "_ENOUGH_BYTES", 0)
    assert named(gathered(table, engine)) == expected
    assert len(engine.items) == 1


def times_in(name: str) -> set[str]:
    stem = name.split(".log.")[0].removesuffix(".parquet")
    return {stem.rpartition("_")[2]}


def test_one_of_another_schema_is_read_by_its_schema(small: Small) -> None:
    """A field more, as a later release may write it."""
    metadata = SavepointMetadata("ann", 1, "", {"p": (BASE,)})
    schema = {**SCHEMA, "fields": [*SCHEMA["fields"], {"name": "more", "type": "int", "default": 1}]}
    body = encode_avro(
        {
            "savepointedBy": "ann",
            "savepointedAt": 1,
            "comments": "",
            "partitionMetadata": {"p": {"partitionPath": "p", "savepointDataFile": [BASE]}},
            "version": 1,
            "more": 7,
        },
        schema,
    )
    assert body != encode(metadata)
    assert named(gathered(small(9, {f"{TIME}_{LATER}.savepoint": body}))) == {"p": {BASE}}


def test_damage_and_absence_are_told_as_for_any_instant(small: Small) -> None:
    body = encode(SavepointMetadata("ann", 1, "", {"p": (BASE,)}))
    table = small(9, {f"{TIME}_{LATER}.savepoint": body[:-20]})
    with pytest.raises(Unreadable, match=f"{TIME}_{LATER}.savepoint"):
        gathered(table)
    timeline = load_timeline(table)
    file = next(entry.file(State.COMPLETED) for entry in timeline.having(SAVEPOINT))
    assert file is not None
    table.storage.delete([f"{table.layout.timeline}/{file.name}"])
    with pytest.raises(Conflict, match="disappeared from the timeline"):
        gather_saved(table, file, 10, LocalEngine())


def test_names_that_the_driver_has() -> None:
    found = kept_saved({"p": (BASE, LOG), "q": ()})
    assert (named(found), found.instants, found.odd) == ({"p": {BASE, LOG}, "q": set()}, {TIME}, None)
    assert kept_saved({"p": (BASE, "odd")}).odd == "odd"
    assert (NOTHING_SAVED.partitions, named(NOTHING_SAVED)) == (frozenset(), {})


@pytest.mark.parametrize(
    ("version", "gone", "expected"),
    [
        (6, (), {BASE, LOG, LATE}),
        (9, (), {BASE, LOG}),
        (6, (TIME,), {LATE}),
        (9, (TIME,), set()),
        (6, (LATER,), {BASE, LOG}),
    ],
)
def test_which_names_count(version: int, gone: Sequence[str], expected: set[str]) -> None:
    """From version 8 on a log carries its writer's instant, which may not have completed."""
    view = Committed({TIME: TIME}, TIME)
    rules = rules_of(version, 1 if version == 6 else 2)
    assert binding([SavedNames(f"{BASE}/{LOG}"), SavedNames(LATE)], rules, view, gone) == expected
    assert binding([], rules, view, gone) == binding([SavedNames("")], rules, view, gone) == frozenset()
