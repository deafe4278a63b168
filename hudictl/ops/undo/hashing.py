"""The hashing metadata of removed instants: if it were left, writers would write into buckets that no longer exist, and
store keys twice."""

from collections.abc import Collection, Sequence

from hudictl.errors import Incomplete
from hudictl.ops.session import Kind, Session
from hudictl.phrases import first_few
from hudictl.table.files.hashing import HashingFile, hashing_files


def verify_hashing(session: Session, times: Collection[str], kind: Kind) -> None:
    """A second listing proves that none of it is left. Raises Incomplete; the operation is then still pending."""
    left = hashing_files(session.table, session.engine, times)
    if left:
        raise Incomplete(
            f"{len(left):,} hashing metadata files of removed instants still exist: {first_few(paths(left))}; "
            f"the {kind.value} is still pending",
            hint="stop all writers, then run `hudictl resume`",
            findings=paths(left),
        )


def paths(files: Sequence[HashingFile]) -> list[str]:
    """The files for plans and messages."""
    return [file.path for file in files]
