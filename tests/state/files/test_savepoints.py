"""Savepoints, read."""

from functools import partial

import pytest

from hudictl.errors import Refused, Unreadable
from hudictl.formats.savepoint import SavepointMetadata, encode
from hudictl.formats.savepoint_names import Head
from hudictl.state.files.savepoints import (
    PROTECTION_COMMENT,
    find_saved,
    find_savepoint,
    is_protection,
    read_saved,
    read_savepoint_head,
    readable_partitions,
    readable_savepoints,
    savepointed_files,
    savepointed_partitions,
    tag_of,
    with_tag,
)
from hudictl.table.timeline.active import load_timeline
from tests.helpers import ENGINE
from tests.table.conftest import Small
from tests.table.conftest import small as small

FIRST, SECOND, THIRD = (f"20261121000000{number}00" for number in (1, 2, 3))


def saved(files: dict[str, tuple[str, ...]]) -> bytes:
    return encode(SavepointMetadata("ann", 1, "", files))


@pytest.mark.parametrize("version", [6, 9])
def test_all_completed_savepoints_are_read_and_no_others(small: Small, version: int) -> None:
    """A partition of which one names no file is none of its partitions: Hudi writes an entry for each."""
    files = {
        f"{FIRST}.savepoint": saved({"p": ("a", "b"), "empty": ()}),
        f"{SECOND}.savepoint": saved({"q": ("c",)}),
        f"{THIRD}.savepoint.inflight": b"",
    }
    table = small(version, files)
    timeline = load_timeline(table)
    assert savepointed_files(table, timeline) == {"p/a": FIRST, "p/b": FIRST, "q/c": SECOND}
    assert savepointed_partitions(table, timeline) == {"p", "q"}
    assert find_savepoint(table, timeline, SECOND).files == {"q": ("c",)}
    assert read_saved(table, timeline, ENGINE, THIRD) is None
    assert read_savepoint_head(table, timeline, THIRD) is None
    found = find_saved(table, timeline, ENGINE, FIRST)
    assert found.head == read_savepoint_head(table, timeline, FIRST) == Head("ann", 1, "")
    assert found.files.names_in({"p", "empty", "q"}) == {"p": {"a", "b"}, "empty": frozenset()}
    assert readable_partitions(table, timeline, ENGINE) == {"p", "q", "empty"}
    with pytest.raises(Refused, match=f"no savepoint {THIRD}"):
        find_saved(table, timeline, ENGINE, THIRD)
    with pytest.raises(Refused, match=f"no savepoint {THIRD}; savepoints of this table: {FIRST}, {SECOND}"):
        find_savepoint(table, timeline, THIRD)


@pytest.mark.parametrize("body", [b"", b"Obj", b"no Avro"])
def test_a_savepoint_that_cannot_be_read_is_left_out_by_those_who_look(small: Small, body: bytes) -> None:
    files = {f"{FIRST}.savepoint": body, f"{SECOND}.savepoint": saved({"q": ("c",)})}
    table = small(6, files)
    timeline = load_timeline(table)
    assert [instant.time for instant, _ in readable_savepoints(table, timeline, ENGINE)] == [SECOND]
    for read in (read_savepoint_head, partial(read_saved, engine=ENGINE), partial(find_saved, engine=ENGINE)):
        with pytest.raises(Unreadable, match=f"{FIRST}.savepoint"):
            read(table, timeline, time=FIRST)


def test_a_comment_that_quotes_hudictls_makes_none_its_own() -> None:
    """Such a savepoint would go with the next restore."""
    assert is_protection(SavepointMetadata("hudictl", 1, f"{PROTECTION_COMMENT}{FIRST}", {}))
    assert not is_protection(SavepointMetadata("ann", 1, f"instead of '{PROTECTION_COMMENT}{FIRST}'", {}))


@pytest.mark.parametrize("tag", ["nightly", "a", "0", "v1.2_x-Y", "x" * 32])
@pytest.mark.parametrize("comment", ["", "before the load", "[other] text", "]"])
def test_a_tag_is_read_back(tag: str, comment: str) -> None:
    written = with_tag(tag, comment)
    assert written == f"[{tag}] {comment}".rstrip()
    assert tag_of(written) == tag


@pytest.mark.parametrize(
    "comment",
    [
        *("", "nightly", "[]", "[ nightly]", "[nightly ]", "[nightly", "nightly]", " [nightly]", "[nightly]x"),
        *(
            "[night ly] x",
            "[-x]",
            "[.x] y",
            "[_]",
            f"[{'x' * 33}]",
            "[n\u00e4chtlich]",
            "[nightly\n]",
            "[a]\n",
            "[a/b] c",
        ),
        f"{PROTECTION_COMMENT}{FIRST}",
    ],
)
def test_other_words_of_strangers_are_no_tag(comment: str) -> None:
    assert tag_of(comment) is None
