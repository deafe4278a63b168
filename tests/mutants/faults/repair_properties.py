"""``table repair-properties``: what counts as proof, and what stays as it is."""

from tests.mutants.fault import Fault

FILE = "ops/repair/properties.py"
EVIDENCE = "ops/repair/evidence.py"
SALVAGE = "table/salvage.py"

FAULTS = (
    Fault(
        FILE,
        "    if missing:\n",
        "    if False:\n",
        "a table gets properties without a name, or without its keys",
    ),
    Fault(
        FILE,
        "        votes = {key: votes[key] for key in {*found.own, *unlike}}\n",
        "        pass\n",
        "sound lines of a file are changed, too",
    ),
    Fault(
        EVIDENCE,
        "        if timeline.last_write and timeline.last_write in done:\n",
        "        if True:\n",
        "a metadata table that lacks the newest write is listed",
    ),
    Fault(
        SALVAGE,
        "    if whole and not wrong and right and fits and own",
        "    if whole and not wrong and right and own",
        "the properties of an interrupted upgrade are changed",
    ),
    Fault(
        "state/as_left.py",
        "        if sha256(read_whole(table.storage, path, found.size)).hexdigest() not in right:\n",
        "        if False:\n",
        "an undo brings damaged properties back over those that were changed since",
        ("ops/repair/test_properties.py",),
    ),
    Fault(
        "formats/properties.py",
        '_LINE_END.split(body.decode("latin-1"))[:-1]',
        '_LINE_END.split(body.decode("latin-1"))',
        "the last line of a cut file counts, with half of its value",
    ),
    Fault(
        "ops/metadata/drop.py",
        "        reset_damaged(table)\n",
        "",
        "after the drop of a metadata table, damaged definitions of indexes still stop all queries",
    ),
)
