"""The bytes that savepoints keep from cleaning: of files that readers do not require now."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from hudictl.formats.file_names import split_names
from hudictl.state.facts import Facts
from hudictl.state.files.needed import judged
from hudictl.state.files.savepoint_files import needed_names
from hudictl.state.files.savepoints import savepointed_names
from hudictl.table.files.choose import bytes_by_holders
from hudictl.table.files.saved import NOTHING_SAVED


@dataclass(frozen=True)
class Held:
    """The bytes of files that readers do not require, by the savepoints that name them: each a bit in the key, whose
    place is that of the savepoint in ``savepoints``."""

    savepoints: tuple[str, ...]
    bytes: Counter[int]

    def only_by(self, savepoints: Collection[str]) -> int:
        """The bytes of files that some savepoints name, and no other one."""
        given = self._bits(savepoints)
        return sum(size for bits, size in self.bytes.items() if bits & given == bits)

    def _bits(self, savepoints: Collection[str]) -> int:
        return sum(1 << place for place, time in enumerate(self.savepoints) if time in savepoints)


def held_bytes(facts: Facts) -> Held:
    """Counts them; the engine looks at the listing. Raises Unreadable, StorageFailed, EngineFailed."""
    times = tuple(entry.time for entry in facts.timeline.savepoints())
    required = needed_names(facts, judged(facts, (), NOTHING_SAVED)[0]).joined
    # Savepoints name mostly the same files, of which most are required: only the others are kept in memory.
    named: dict[str, Counter[str]] = {}
    for time, path, names in savepointed_names(facts.table, facts.timeline):
        bits = 1 << times.index(time)
        for name in {*names}.difference(split_names(required.get(path, ""))):
            named.setdefault(path, Counter())[name] |= bits
    found: Counter[int] = Counter()
    for sizes in facts.sweep.over("count bytes", bytes_by_holders, given=named.items()):
        found.update(sizes)
    return Held(times, found)
