"""What happens to tables in the wild beside what Hudi does to them: steps as those of ``steps``."""

import os
import shutil
import time
import uuid
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random

from hudictl.formats.instants import format_time, time_plus_ms
from tests.ahead import move_in_time
from tests.helpers import Copy, put
from tests.interop.killed import timeline_files
from tests.walks import steps
from tests.walks.table import Table

# As far off as in a copy that is made hours later: a walk is over in minutes.
COPIED_S = (3 * 60 + 7) * 60
AHEAD = (timedelta(hours=1), timedelta(days=26 * 365))
FAILED = 40
VERSIONS = {6: "SIX", 8: "EIGHT", 9: "NINE"}


def copied_without_times(table: Table, chance: Random) -> bool:
    """The table is a copy: all files have the same time, which is none of theirs. 1.2.0 reads completion times from
    them below version 8: they are not before the requests, as in any copy."""
    moment = time.time() - (COPIED_S if table.hudi.version == "v6" else 0)
    for path in table.base.rglob("*"):
        os.utime(path, (moment, moment))
    # Below version 8 these are their completion times.
    table.copied = frozenset(entry.time for entry in table.timeline) if table.version == "v6" else frozenset()
    return True


def clock_ahead(table: Table, chance: Random) -> bool:
    """The clock of a writer without a metadata table is ahead: by an hour, or by years. Each later write is older by
    name, and readers of copy on write may never see it."""
    count = len(table.writes)
    if table.broken or table.pending or not steps.without_metadata(table, chance) or len(table.writes) == count:
        return False
    write = table.writes[-1]
    moment = datetime.now(timezone.utc) + chance.choice(AHEAD)
    begun, ended = format_time(moment), format_time(moment + timedelta(seconds=5))
    move_in_time(Copy(table.version, "", table.base), write.instant, begun, ended)
    table.moved(write, begun)
    return True


def lost_instant_file(table: Table, chance: Random) -> bool:
    """A file of a pending instant is lost while another one is there, or it is emptied: so the plan of a service, which
    no reader of Hudi does without."""
    if not table.pending:
        chance.choice((steps.killed_write, steps.killed_service))(table, chance)
    times = {entry.time for entry in table.pending}
    files = [path for path in timeline_files(table.base) if path.name[:17] in times and "_" not in path.name]
    several = {path for path in files for other in files if path != other and path.name[:17] == other.name[:17]}
    found = sorted(path for path in files if path in several or path.stat().st_size)
    if not found:
        return False
    file = chance.choice(found)
    put(file)
    if file in several and chance.random() < 0.5:
        file.unlink()
    table.broken.add(file.name[:17])
    return True


def temporary_files(table: Table, chance: Random) -> bool:
    """Writers died before they renamed what they had written: nothing in a reader's way."""
    meta, last, name = table.base / ".hoodie", table.active[-1:], str(uuid.UUID(int=chance.getrandbits(128)))
    timeline = meta if table.version == "v6" else meta / "timeline"
    made = [timeline / f"{entry.time}.{entry.action}.{name}" for entry in last]
    # Without the file of versions, readers of Hudi 1.0.2 fail at it, too.
    versions = meta.rglob("history/_version_")
    made += [file.with_name(f"manifest_{int(file.read_text()) + 1}.{name}") for file in versions]
    metafile = next((path for path in sorted(table.base.rglob(".hoodie_partition_metadata"))), None)
    made += [metafile.with_name(f"{metafile.name}_{1}")] if metafile else []
    for path in chance.sample(made, chance.randrange(len(made) + 1)):
        put(path, b"half")
    if chance.random() < 0.5:
        shutil.copy2(meta / "hoodie.properties", meta / "hoodie.properties.backup")
    return True


def other_version(table: Table, chance: Random) -> bool:
    """1.2.0 upgrades or downgrades the table, and keeps the new version from then on."""
    if table.hudi.version != "v9" or table.interrupted or table.broken or not table.good:
        return False
    now = int(table.version[1:])
    wanted = chance.choice(sorted(VERSIONS.keys() - {now}))
    way = "upgrade" if wanted > now else "downgrade"
    table.hudi.sql(table.base, [f"CALL {way}_table(table => 'judged', to_version => '{VERSIONS[wanted]}')"])
    table.shape = replace(table.shape, version=wanted)
    # A downgrade writes the timeline anew: below version 8 the files' times are completion times.
    table.copied = frozenset(entry.time for entry in table.timeline) if wanted == 6 else frozenset()
    return True


def forty_failed_writes(table: Table, chance: Random) -> bool:
    """A job has died again and again, each time as the first: its instants, files, markers and heartbeats."""
    before = set(table.base.rglob("*"))
    # Before it has written into the metadata table.
    steps.killed_write(table, chance, steps.DEATHS[:4])
    new = [path for path in sorted(table.base.rglob("*")) if path not in before and path.is_file()]
    times = {entry.time for entry in table.pending if any(path.name.startswith(entry.time) for path in new)}
    for first in times:
        for number in range(1, FAILED):
            other = time_plus_ms(first, number)
            for path in new:
                _again(table, path, first, other, number)
    return bool(times)


def _again(table: Table, path: Path, first: str, other: str, number: int) -> None:
    """One file of a failed write, as another one has left it."""
    name, body = str(path.relative_to(table.base)), path.read_bytes()
    # A metafile of a partition has its first writer's time inside: there is one.
    if path.suffix == ".crc" or not (first in name or (".log." in name and first.encode() in body)):
        return
    if first not in name:  # a log of version 6
        start, _, rest = name.partition(".log.")
        log, _, token = rest.partition("_")
        name = f"{start}.log.{int(log) + number}_{token}"
    target = table.base / name.replace(first, other)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(body.replace(first.encode(), other.encode()))
