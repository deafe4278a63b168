"""A table as a writer with a wrong clock leaves it: one of its commits has another time."""

import os

from tests.helpers import Copy


def move_in_time(copy: Copy, time: str, other: str, completed: str | None = None) -> str:
    """Gives a commit another time of 17 digits, in all names and contents, and of version 8 on another completion time.
    The table has no metadata table: that one's contents are compressed."""
    times = {time.encode(): other.encode()}
    done = next(copy.timeline.glob(f"{time}_*"), None)
    if done is not None and completed is not None:
        times[done.name.partition("_")[2][:17].encode()] = completed.encode()
    for path in sorted(copy.path.rglob("*"), reverse=True):
        if path.is_file():
            status, body = path.stat(), path.read_bytes()
            name, moved = path.name.encode(), body
            for old, new in times.items():
                moved, name = moved.replace(old, new), name.replace(old, new)
            if path.suffix == ".crc" and (name != path.name.encode() or path.name.startswith(f".{time}")):
                path.unlink()
                continue
            if moved != body:
                path.write_bytes(moved)
                path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            if name != path.name.encode():
                path.rename(path.with_name(name.decode()))
    return other
