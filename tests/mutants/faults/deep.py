"""What is inside the files that a target needs, and what check finds of tables that were moved."""

from tests.mutants.fault import Fault

CONTENTS = "state/files/contents.py"
DEEP = ("cli/test_deep.py",)
CLEANS = ("ops/rollback/test_harmful_clean.py",)
CLUSTERINGS = ("reports/health/test_clusterings.py",)
FOREIGN = ("reports/health/test_foreign.py",)

FAULTS = (
    Fault(
        CONTENTS,
        "time is not None and time in case.view.committed and time not in undone",
        "time is not None",
        "what a dead writer has torn is damage",
        DEEP,
    ),
    Fault(
        CONTENTS,
        "    if fails_readers(defect):\n        return True",
        "    if False:\n        return True",
        "a log at which readers fail is sound if nobody knows whose rows it had",
        DEEP,
    ),
    Fault(CONTENTS, "damaged = dict(chain.from_iterable(footers))", "damaged: dict[str, str] = {}", "no footer", DEEP),
    Fault("ops/restore/planning.py", "if scope.options.deep:", "if False:", "a restore reads no contents", DEEP),
    Fault(
        "state/services/harmful_cleans.py",
        "        if there:\n",
        "        if False:\n",
        "a clean of the folder from which the table was moved is honest",
        CLEANS,
    ),
    Fault(
        "storage/uri.py",
        'os.path.realpath(f"/{path}")',
        'f"/{path}"',
        "a link is another folder than the one that it names",
        CLEANS,
    ),
    Fault(
        "reports/health/services.py",
        "waits = waits and not entries_of(table.storage, HASHING_METADATA)",
        "waits = False",
        "a clustering that nobody runs is harmless",
        CLUSTERINGS,
    ),
    Fault(
        "reports/health/services.py",
        "elif waits and quiet_ms >= look.idle_ms:",
        "elif waits:",
        "a clustering that was just planned waits",
        CLUSTERINGS,
    ),
    Fault(
        "state/orphans/asked.py",
        "(time in completed or time < start)",
        "time < start",
        "a copy with the time of a commit is not read",
        FOREIGN,
    ),
    Fault(
        "state/orphans/asked.py",
        "(time in completed or time < start)",
        "time in completed",
        "a file that is older by its name than the timeline is not read",
        FOREIGN,
    ),
    Fault(
        "state/orphans/asked.py",
        ' if newest.get(groups[file], "") <= time)',
        ")",
        "an older file of a file group is read",
        FOREIGN,
    ),
    Fault(
        "state/orphans/lost_end.py",
        "if not any(since < time <= until for since, until in spans)",
        "if True",
        "what a restore took away is lost",
        ("reports/health/test_files.py",),
    ),
)
