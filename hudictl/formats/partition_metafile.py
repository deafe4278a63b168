"""The text form of a partition's metafile (checked on Hudi 0.15.0 to 1.2.0)."""

from datetime import datetime, timezone

from hudictl.formats import properties

_COMMIT, _DEPTH = "commitTime", "partitionDepth"


def encode(partition: str, commit: str, moment: datetime) -> bytes:
    """The metafile of a partition that a commit has made."""
    utc = moment.astimezone(timezone.utc).strftime("%a %b %d %H:%M:%S UTC %Y")
    return f"#partition metadata\n#{utc}\n{_COMMIT}={commit}\n{_DEPTH}={depth_of(partition)}\n".encode()


def problem(partition: str, body: bytes) -> str:
    """The problem of a partition's metafile; "" if there is none."""
    try:
        found = properties.decode(body)
    except ValueError as error:
        return str(error)
    for key in (_COMMIT, _DEPTH):
        value = found.get(key)
        if value is None:
            return f"it has no {key}"
        if not (value.isascii() and value.isdigit()):
            return f"its {key} is {value!r}, not a number"
    if int(found[_DEPTH]) != depth_of(partition):
        return (
            f"its {_DEPTH} is {found[_DEPTH]}, but {partition or 'the base path'!r} has the depth {depth_of(partition)}"
        )
    return ""


def depth_of(partition: str) -> int:
    """How many folders the partition is below the base path."""
    return len(partition.split("/")) if partition else 0
