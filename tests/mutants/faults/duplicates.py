"""Keys that queries read twice: none is missed, and none is made up."""

from tests.mutants.fault import Fault

WORKERS = "record_workers.py"
REPORT = "reports/record_duplicates.py"
TESTS = ("reports/test_record_duplicates.py",)

FAULTS = (
    Fault(WORKERS, "(twice if digest in seen else seen).add", "seen.add", "duplicates are not found", TESTS),
    Fault(WORKERS, "if one in twice))", "if True))", "the digests of all keys come to the driver", TESTS),
    Fault(REPORT, "if len(copies) > 1)", "if copies)", "two keys with one digest are duplicates", TESTS),
    Fault(REPORT, '["" if everywhere else partition', "[partition", "in the whole table none is found", TESTS),
    Fault(
        REPORT,
        "        if isinstance(found, HudictlError):\n            yield DuplicateRecord(",
        "        if isinstance(found, HudictlError):\n            DuplicateRecord(",
        "a damaged file seems to have none",
        TESTS,
    ),
    Fault(REPORT, "scan_as_of(scan_rule(table), as_of)", "scan_rule(table)", "later logs count, too", TESTS),
    Fault(
        "reports/logs/merged.py",
        "newest_of(list(slices))",
        "list(slices)[:1]",
        "base files of a compaction are passed over",
        TESTS,
    ),
    Fault(REPORT, " and copy.file not in older", "", "Hudi is said to keep a record that it drops", TESTS),
    Fault(
        "formats/record_merge.py",
        "if new is not None and not rule.payloads:",
        "if new is not None:",
        "of a key twice in a base file the second row is read as the logs say (0.15.0)",
        ("table/logs/test_merge.py",),
    ),
)
