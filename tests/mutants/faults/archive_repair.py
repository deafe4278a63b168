"""``archive repair``: what counts as whole, what is lost, and what goes by it afterwards."""

from tests.mutants.fault import Fault

FILES = "ops/repair/archive_files.py"
PLAN = "ops/repair/archive.py"
FORMAT = "formats/archived_timeline.py"
GUARDS = "ops/guards/timeline.py"
LOST = "table/archive_lost.py"

FAULTS = (
    Fault(
        GUARDS,
        "    if lost:\n",
        "    if False:\n",
        "a restore passes over writes that the archive has lost",
        ("ops/repair/test_archive.py",),
    ),
    Fault(
        GUARDS,
        "    archive_is_known(table, target)\n    later = ",
        "    later = ",
        "a savepoint is made before writes that the archive has lost",
        ("ops/repair/test_archive.py",),
    ),
    Fault(
        "ops/restore/scope.py",
        "    guards.archive_is_known(table, target)\n",
        "",
        "a restore leaves the files of archived writes that are lost, and they come back",
        ("ops/repair/test_archive.py",),
    ),
    Fault(
        "state/orphans/ownership.py",
        "    if file.data.instant <= records.lost_until and file.path not in records.asked:\n",
        "    if False:\n",
        "files of archived commits are deleted, because the archive has lost them",
        ("ops/repair/test_archive.py",),
    ),
    Fault(
        LOST,
        "json.dumps({**losses(table), time: until})",
        "json.dumps({time: until})",
        "the loss of an earlier repair is forgotten by the next one",
    ),
    Fault(
        LOST,
        "    if found:\n",
        "    if False:\n",
        "the undo of one repair makes the losses of all forgotten",
    ),
    Fault(
        "ops/put_back/execute.py",
        "    forget_loss(table, plan.undoes)\n",
        "",
        "an undo leaves the refusal",
        ("ops/repair/test_archive.py",),
    ),
    Fault(
        "ops/repair/plan.py",
        "        # Before the note: what has a room can be undone, and so forgotten.\n",
        '        note_loss(table, run.time, plan.lost_until or "0")\n',
        "a loss that did not happen can never be withdrawn",
        ("ops/repair/test_archive_loss.py::test_a_loss_that_did_not_happen_can_be_withdrawn",),
    ),
    Fault(
        "ops/repair/plan.py",
        "        if plan.lost_until:\n            note_loss(table, run.time, plan.lost_until)\n",
        "",
        "what a repair has lost is forgotten",
        ("ops/repair/test_archive_loss.py",),
    ),
    Fault(
        FILES,
        "name in listed or (more and more.isdisjoint(gone) and whole[name].isdisjoint(gone))",
        "name in listed or more",
        "writes that a restore has removed come back into the archive",
    ),
    Fault(
        FILES,
        "        more = whole[name].difference(*found.values(), there)\n",
        "        more = whole[name].difference(*found.values())\n",
        "the file of a dead archiver counts, and the next archiver skips its instants",
    ),
    Fault(
        FILES,
        "and times <= found[other] for other in found",
        "and times == found[other] for other in found",
        "a manifest has both a merged file and what it has replaced",
    ),
    Fault(
        FILES,
        "if name in listed or number not in readable}",
        "}",
        "what a dead writer has left is called lost",
    ),
    Fault(
        FILES,
        "                    fmt.check_lsm(self._read_at(name), self.sizes[name], name)\n",
        "",
        "a file with damaged contents stays, and Hudi's merge of the archive fails",
        ("ops/repair/test_archive.py",),
    ),
    Fault(
        FORMAT,
        "told == (len(records), position)",
        "told[0] == len(records)",
        "a block that is lost behind another one is not noticed",
        ("ops/repair/test_archive.py",),
    ),
    Fault(
        PLAN,
        "        _nothing_written(table, mended.files, signs.now_ms, idle_ms)\n",
        "",
        "a file that an archiver writes just now is taken for a damaged one",
    ),
    Fault(
        PLAN,
        '    if first and min(witnessed, default="~") <= first and witnessed.issuperset(writes):\n',
        "    if first:\n",
        "beyond a savepoint, archived writes are lost that no one names, and a restore passes over them",
    ),
)
