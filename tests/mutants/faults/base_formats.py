"""Base files in other formats than Parquet: what is known by names, and what must not be read."""

from tests.mutants.fault import Fault

NAMES = "formats/file_names.py"
ROWS = "formats/base_rows.py"
WRITABLE = "state/writable.py"
MERGED = "reports/logs/merged.py"
VIEW = "reports/indexes/view.py"
CLI = "cli/test_bases.py"

FAULTS = (
    Fault(
        NAMES,
        ', ".lance": "Lance"}',
        "}",
        "base files in Lance are passed over: a restore leaves them",
        ("formats/test_file_names.py::test_base_name_round_trip", f"{CLI}::test_a_restore"),
    ),
    Fault(
        WRITABLE,
        "    if value == _LANCE and version < _LANCE_FROM:\n",
        "    if False:\n",
        "a table is changed whose own Hudi release does not know its base files",
        ("state/test_writable.py::test_other_base_file_formats",),
    ),
    Fault(
        ROWS,
        "    require_rows(name)\n    if base_format",
        "    if base_format",
        "a file in Lance is read as ORC, and called damaged",
        ("formats/test_base_rows.py::test_other_formats_are_named",),
    ),
    Fault(
        ROWS,
        "        if _has_timestamp(field.type):\n",
        "        if False:\n",
        "timestamps in ORC are shown hours off",
        ("formats/test_base_rows.py::test_timestamps_in_orc_are_refused_where_they_are_read",),
    ),
    Fault(
        ROWS,
        "        for start in range(0, stripe.num_rows, _BATCH_ROWS):\n",
        "        for start in range(0, min(stripe.num_rows, _BATCH_ROWS), _BATCH_ROWS):\n",
        "rows of a large stripe are left out",
        ("formats/test_base_rows.py::test_rows_of_many_stripes_come_in_their_order",),
    ),
    Fault(
        MERGED,
        "        require_rows(base_file.path)\n",
        "        pass\n",
        "records are shown before the base file is found to be unreadable",
        (f"{CLI}::test_merged_records_of_other_formats",),
    ),
    Fault(
        VIEW,
        '        require_format(file.path, (PARQUET,), "reads the footers of")\n',
        "        pass\n",
        "a footer in ORC is read as Parquet, and called damaged",
        (f"{CLI}::test_indexes_over_other_formats",),
    ),
)
