"""The hashing metadata of instants that go: writers would fill buckets that are not there any more, and keep each key
twice."""

from collections.abc import Collection, Sequence

from hudictl.errors import Incomplete
from hudictl.ops.session import Kind, Session
from hudictl.phrases import first_few
from hudictl.table.hashing_metadata import HashingFile, hashing_files


def verify_hashing(session: Session, times: Collection[str], kind: Kind) -> None:
    """A second listing proves that none of it is left. Raises Incomplete; the operation stays pending."""
    left = hashing_files(session.table, session.engine, times)
    if left:
        raise Incomplete(
            f"{len(left)} files of hashing metadata of removed instants are still there: {first_few(paths(left))}; "
            f"the {kind.value} stays pending",
            hint="stop all writers, then `hudictl resume`",
            findings=paths(left),
        )


def paths(files: Sequence[HashingFile]) -> list[str]:
    """The files for plans and messages."""
    return [file.path for file in files]
