"""What the tests of partition share with others."""

from dataclasses import dataclass

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from hudictl.formats.file_names import log_file_name, parse_data_file
from hudictl.state.files.partition import Records, Verdict, View, judge
from hudictl.table.files.slices import Committed, StoredFile
from hudictl.table.rules import rules_of

PATH = "p=1"


GROUPS = ("a-0", "b-0", "c-0")


TIMES = tuple(f"2026112103000{number:04}" for number in range(10))


START = TIMES[1]


VERSIONS = {6: 1, 8: 2, 9: 2}


def stored(name: str, size: int | None = 7) -> StoredFile:
    data = parse_data_file(name)
    assert data is not None, name
    return StoredFile(PATH, data, size)


def base(group: str, time: str) -> str:
    return f"{group}_0-1-2_{time}.parquet"


def log(group: str, time: str, number: int = 1) -> str:
    return log_file_name(group, time, number, "0-1-2")


@dataclass(frozen=True)
class History:
    """A partition at one moment: its files, what records say of it, and the timeline's part."""

    files: tuple[StoredFile, ...]
    records: Records
    view: View

    def judged(self) -> Verdict:
        return judge(PATH, self.files, self.records, self.view)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Overlapping instants, some removed; pending services, a savepoint, lost records, files of strangers."""
    version = draw(st.sampled_from(sorted(VERSIONS)))
    rules = rules_of(version, VERSIONS[version])
    active = draw(st.sets(st.sampled_from(TIMES[1:]), min_size=1))
    pending = draw(st.sets(st.sampled_from(sorted(active))))
    removed = frozenset(draw(st.sets(st.sampled_from(sorted(active)))))
    names = draw(
        st.lists(
            st.one_of(
                st.builds(base, st.sampled_from(GROUPS), st.sampled_from(TIMES)),
                st.builds(log, st.sampled_from(GROUPS), st.sampled_from(TIMES), st.integers(1, 3)),
            ),
            unique=True,
            max_size=14,
        )
    )
    files = tuple(stored(name, draw(st.sampled_from([7, 7, 7, 0]))) for name in names)
    some = st.sets(st.sampled_from(names)) if names else st.just(set())
    # Writes complete in any order after they were requested: one may overlap others.
    completion = {time: TIMES[draw(st.integers(TIMES.index(time), len(TIMES) - 1))] for time in active - pending}
    committed = Committed({t: done for t, done in completion.items() if t not in removed}, min(active))
    kept = sorted(committed.completion)
    written = {name: draw(st.sampled_from(kept)) for name in draw(some)} if kept else {}
    services = (
        {group: draw(st.sampled_from(sorted(pending - removed))) for group in GROUPS} if pending - removed else {}
    )
    compactions = {group: time for group, time in services.items() if draw(st.booleans())}
    records = Records(
        owners=frozenset(draw(st.sets(st.sampled_from(sorted(removed))))) if removed else frozenset(),
        written=written,
        planned={name: next(iter(services.values())) for name in draw(some)} if services else {},
        saved=frozenset(name for name in draw(some) if stored(name).data.instant not in removed),
        cleaned=frozenset(draw(some)),
        replaced=frozenset(draw(st.sets(st.sampled_from(GROUPS)))),
        compactions=compactions,
    )
    return History(files, records, View(rules, committed, removed))


MANY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


OLD, COMPACTION, LATE = TIMES[2], TIMES[4], TIMES[6]
