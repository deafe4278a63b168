"""Where files are kept that an operation deletes with --keep-files."""

from hudictl.storage import KeepsVersions


def keeping_line(found: KeepsVersions | None) -> str:
    """For a plan: the place, its cost, and how long they stay there."""
    if found is None or found.why_not is not None:
        why = f" The old versions of {found.where} cannot be used: {found.why_not}." if found is not None else ""
        place = "Kept files are moved into .hoodie/.hudictl/undo and take space until `hudictl undo drop`."
        return f"{place} An object store copies each of them.{why}"
    long = "as long as the bucket keeps old versions: no rule that deletes them is known"
    if found.days is not None:
        long = f"for {found.days} days: then a rule of the bucket may delete old versions"
    return (
        f"Kept files stay in {found.where} as old versions: 0 bytes are copied, one request more for each file. "
        f"Only files older than its versioning are copied. An undo is possible {long}."
    )
