"""Instants: names in all layouts, states, grouping, times."""

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats.instants import InstantFile, State, parse_instant_file
from tests import support
from tests.formats import real_files

T = "20261121023218752"
CT = "20261121023219512"
TIMES = st.from_regex(r"\A[0-9]{1,20}\Z")
REAL_STATES = [
    (action, state)
    for action in sorted(fmt.ACTIONS)
    for state in State
    if not (state is State.COMPLETED and action in fmt.PENDING_ONLY)
    and not (state is State.REQUESTED and action == fmt.SAVEPOINT)
]


@pytest.mark.slow
@given(st.sampled_from(REAL_STATES), st.sampled_from([0, 1, 2]), TIMES, TIMES)
def test_a_written_name_parses_back(what: tuple[str, State], layout: int, time: str, completion: str) -> None:
    """parse(format(x)) == x for every action and state that the layout knows."""
    action, state = what
    if action == fmt.CLUSTERING and layout < 2:
        return
    done = completion if state is State.COMPLETED and layout == 2 else None
    name = fmt.instant_file_name(time, action, state, layout, done)
    assert parse_instant_file(name, layout) == InstantFile(name, time, action, state, done)


@pytest.mark.parametrize(
    ("name", "action", "state"),
    [
        (f"{T}.inflight", "commit", State.INFLIGHT),
        (f"{T}.commit.requested", "commit", State.REQUESTED),
        (f"{T}.compaction.inflight", "compaction", State.INFLIGHT),
        (f"{T}.savepoint.inflight", "savepoint", State.INFLIGHT),
        (f"{T}.replacecommit.requested", "replacecommit", State.REQUESTED),
    ],
)
@pytest.mark.parametrize("layout", [1, 2])
def test_pending_names(name: str, action: str, state: State, layout: int) -> None:
    """The names of Hudi's own table, commit's bare ``.inflight`` among them, are the same in both layouts."""
    parsed = parse_instant_file(name, layout)
    assert parsed == InstantFile(name, T, action, state)
    assert fmt.instant_file_name(T, action, state, layout) == name


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        (f".{T}.commit.crc", 1),
        ("hoodie.properties", 1),
        (f"{T}.commit.requested.6f9619ff-8b86-d011-b42d-00c04fc964ff", 1),
        (f"{T}_{CT}.commit.6f9619ff", 2),
        (f"{T}_{CT}.commit", 1),
        (f"{T}_{CT}.commit.requested", 2),
        (f"{T}.clustering.requested", 1),
        (f"{T}.clustering.inflight", 1),
        (f"{T}.compaction", 1),
        (f"{T}_{CT}.compaction", 2),
        (f"{T}_{CT}.clustering", 2),
        (f"{T}.savepoint.requested", 1),
        (f"{T}.commit.done", 1),
        (T, 1),
        (f"{T}.", 1),
        ("", 1),
        ("archived", 1),
        (".DS_Store", 1),
        (f"{T}_.commit", 2),
        (f"{T}.commit\n", 1),
        ("".join(chr(ord("\u0660") + int(digit)) for digit in T) + ".commit", 1),
    ],
)
def test_names_that_are_no_instants(name: str, layout: int) -> None:
    """Sidecars, temporary files, the forms that the layout does not have, a line end, and digits of other scripts."""
    assert parse_instant_file(name, layout) is None


def test_a_completed_file_of_the_old_form_counts_in_layout_2() -> None:
    """Hudi's legacy tolerance: no completion time in the name."""
    assert parse_instant_file(f"{T}.commit", 2) == InstantFile(f"{T}.commit", T, "commit", State.COMPLETED, None)


@pytest.mark.parametrize("name", [f"{T}.schemacommit", f"{T}.schemacommit.requested", f"{T}.indexbuild.inflight"])
def test_an_unknown_action_is_told_apart(name: str) -> None:
    """A form of an instant with an action of a later release: not known, and not ignored."""
    parsed = parse_instant_file(name, 1)
    assert parsed is not None
    assert not parsed.known


@pytest.mark.parametrize(
    ("action", "state", "layout"),
    [
        *((action, State.COMPLETED, layout) for action in sorted(fmt.PENDING_ONLY) for layout in (1, 2)),
        ("savepoint", State.REQUESTED, 1),
        ("commit", State.COMPLETED, 2),
    ],
)
def test_names_that_hudi_never_has_are_not_made(action: str, state: State, layout: int) -> None:
    with pytest.raises(ValueError, match=r"completes as|no requested|completion time"):
        fmt.instant_file_name(T, action, state, layout)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_every_name_of_the_real_timelines(version: str) -> None:
    """Each file of a timeline folder is an instant's, and would be written under the same name."""
    layout = 1 if version == "v6" else 2
    depth = 1 if layout == 1 else 2
    seen = 0
    for name in support.names(version):
        for path in real_files.files(version, name):
            folder, _, base = path.rpartition("/")
            if folder != (".hoodie" if depth == 1 else ".hoodie/timeline") or not base[:1].isdigit():
                continue
            parsed = parse_instant_file(base, layout)
            assert parsed is not None, base
            assert parsed.known
            again = fmt.instant_file_name(parsed.time, parsed.action, parsed.state, layout, parsed.completion_time)
            assert again == base
            seen += 1
    assert seen > 200


def parse_all(names: list[str], layout: int) -> list[InstantFile]:
    return [file for name in names if (file := parse_instant_file(name, layout)) is not None]


def test_files_of_one_instant_are_grouped_and_the_last_state_wins() -> None:
    """A compaction that completed shows as its commit, with all three files; a savepoint stays beside its commit."""
    names = [f"{T}.savepoint.inflight", f"{T}_{CT}.commit", f"{T}.compaction.requested", f"{T}.compaction.inflight"]
    commit, savepoint = fmt.group_instants(parse_all(names, 2))
    assert (commit.action, commit.state, commit.completion_time) == ("commit", State.COMPLETED, CT)
    assert [file.name for file in commit.files] == [names[2], names[3], names[1]]
    assert (savepoint.action, savepoint.pending) == ("savepoint", True)


@pytest.mark.parametrize(
    ("names", "layout", "action"),
    [
        ([f"{T}.clustering.requested", f"{T}_{CT}.replacecommit"], 2, "replacecommit"),
        ([f"{T}.logcompaction.inflight", f"{T}.deltacommit"], 1, "deltacommit"),
        ([f"{T}.compaction.requested", f"{T}.commit"], 1, "commit"),
    ],
)
def test_a_table_service_completes_under_another_action(names: list[str], layout: int, action: str) -> None:
    (instant,) = fmt.group_instants(parse_all(names, layout))
    assert (instant.action, instant.completed, len(instant.files)) == (action, True, 2)


@given(st.permutations(["1.commit", "1.inflight", "2.clean.requested", "10.rollback", "2.clean", "1.clean.inflight"]))
def test_grouping_does_not_depend_on_the_order_of_the_listing(names: list[str]) -> None:
    """Sorted by the text of the time (Hudi compares text), then by action."""
    found = fmt.group_instants(parse_all(names, 1))
    assert [str(instant) for instant in found] == [
        "1 clean INFLIGHT",
        "1 commit COMPLETED",
        "10 rollback COMPLETED",
        "2 clean COMPLETED",
    ]


def test_the_file_of_a_state_and_variant() -> None:
    """Both variants of a clustering's pending files can be there; each is found by its action."""
    names = [f"{T}.clustering.requested", f"{T}.replacecommit.requested"]
    (instant,) = fmt.group_instants(parse_all(names, 2))
    for name in names:
        file = instant.file(State.REQUESTED, name.split(".")[1])
        assert file is not None
        assert file.name == name
    assert instant.file(State.COMPLETED) is None


@given(
    st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)).map(lambda d: d.replace(microsecond=0)),
    st.integers(0, 999),
)
def test_time_round_trip(moment: datetime, millis: int) -> None:
    """Seventeen digits, to the millisecond."""
    moment = moment.replace(microsecond=millis * 1000, tzinfo=timezone.utc)
    text = fmt.format_time(moment)
    assert len(text) == fmt.TIME_FORMAT_DIGITS
    assert fmt.parse_time(text, timezone.utc) == moment


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20261121023218752", (2026, 11, 21, 2, 32, 18, 752000)),
        ("20261121023218", (2026, 11, 21, 2, 32, 18, 999000)),
        ("20261121021938237001", (2026, 11, 21, 2, 19, 38, 237000)),
    ],
)
def test_time_rules_of_hudi(text: str, expected: tuple[int, ...]) -> None:
    """14 digits mean the end of their second, more than 17 are cut; the zone is the table's."""
    zone = ZoneInfo("Asia/Kolkata")
    assert fmt.parse_time(text, zone) == datetime(*expected, tzinfo=zone)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["001", "00000000000000", "00000000000000010", "20261321023218752", "", "2026112102321875x"]
)
def test_times_that_are_no_dates(text: str) -> None:
    """Reserved and test times have no date, and that is no error."""
    assert fmt.parse_time(text, timezone.utc) is None


@given(st.integers(-86_400_000, 86_400_000))
def test_time_arithmetic_is_on_the_clock_face(milliseconds: int) -> None:
    later = fmt.time_plus_ms(T, milliseconds)
    before, after = (fmt.parse_time(text, timezone.utc) for text in (T, later))
    assert before is not None
    assert after is not None
    assert after - before == timedelta(milliseconds=milliseconds)


def test_arithmetic_on_what_is_no_time() -> None:
    with pytest.raises(Unreadable, match="'001' is not an instant time"):
        fmt.time_plus_ms("001", 1)


@pytest.mark.parametrize(("text", "milliseconds"), [("99991231235959999", 1), (T, -(10**14)), (T, 10**30)])
def test_arithmetic_that_leaves_the_calendar(text: str, milliseconds: int) -> None:
    with pytest.raises(Unreadable, match=text):
        fmt.time_plus_ms(text, milliseconds)


def test_a_time_has_17_digits_in_early_years_too() -> None:
    assert fmt.time_plus_ms("10000101000000000", -1) == "09991231235959999"


def test_epoch_milliseconds_are_shown_in_utc() -> None:
    """As a date of any zone is: the same moment, to the millisecond."""
    moment = datetime(2025, 1, 21, 1, 5, 47, 796_000, timezone(timedelta(hours=1)))
    assert fmt.utc_text_of_ms(1737417947796) == fmt.utc_text(moment) == "2025-01-21T00:05:47.796+00:00"


def test_an_instant_that_two_processes_completed_has_two_completed_files() -> None:
    names = [f"{T}.commit.requested", f"{T}_{CT}.commit", f"{T}_{CT[:-1]}3.commit"]
    (instant,) = fmt.group_instants(parse_all(names, 2))
    assert [file.name for file in instant.completed_files] == names[1:]
    (pending,) = fmt.group_instants(parse_all(names[:1], 2))
    assert pending.completed_files == ()
