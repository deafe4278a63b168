"""Where `record find` looks: a file that it leaves out may have the record."""

from tests.mutants.fault import Fault

FILTERS = "formats/bloom_filters.py"
FOUND = "reports/record_versions.py"

AS_OF = "reports/as_of.py"

FAULTS = (
    Fault(
        AS_OF,
        "    if as_of < kept:",
        "    if False:",
        "a record whose file a clean has taken was never there",
    ),
    Fault(
        AS_OF,
        "    kept = max((",
        "    kept = min((",
        "a clean that kept less than another is forgotten",
    ),
    Fault(
        FILTERS,
        "return any(has or [True])",
        "return any(has)",
        "a file whose bloom filter is damaged is not looked at",
    ),
    Fault(
        FILTERS,
        "if not least <= units <= greatest:",
        "if not least < units < greatest:",
        "the first and the last key of a file are not found",
    ),
    Fault(
        FILTERS,
        "code ^= len(key)",
        "code ^= len(key) + 1",
        "a bloom filter excludes keys that its file has",
    ),
    Fault(
        FOUND,
        "None if as_of else _by_index(",
        "_by_index(",
        "as of an instant, a record is looked for where it is now",
    ),
    Fault(
        "reports/logs/merged.py",
        "newest_of(list(slices))",
        "list(slices)[:1]",
        "below a pending compaction, records of the base file are not found",
        ("reports/test_record_versions.py",),
    ),
    Fault(
        FOUND,
        "[], with_deleted=True)",
        "[])",
        "of a deleted record nothing is told",
    ),
    Fault(
        FOUND,
        "for row in rows)) > 1:",
        "for row in rows)) > 2:",
        "a duplicate is not called one",
    ),
)
