"""``check`` of what stands in files: the ends of base files, partition metafiles."""

from tests.mutants.fault import Fault

ENDS = "reports/health/commits.py"
FORMAT = "formats/base_files.py"
PARTITION = "reports/health/partition.py"
WORKERS = "workers.py"
FILES = "reports/health/files.py"
TESTS = "reports/health/test_ends.py"
FORMAT_TESTS = "formats/test_base_files.py"
METAFILE = "formats/partition_metafile.py"
METAFILE_TESTS = "formats/test_partition_metafile.py"

FAULTS = (
    Fault(
        PARTITION,
        "if match[3] in committed and has_known_end",
        "if has_known_end",
        "a file that is being written is called damaged",
        (f"{TESTS}::test_files_of_a_pending_write_may_be_half_written",),
    ),
    Fault(
        ENDS,
        "    if not look.footers:\n",
        "    if False:\n",
        "check reads every base file without being asked",
        (f"{TESTS}::test_a_file_of_the_same_size_that_is_no_parquet",),
    ),
    Fault(
        WORKERS,
        "            # A clean has just deleted it.\n            continue\n",
        "            end = b''\n",
        "a file that a clean takes meanwhile is called damaged",
        (f"{TESTS}::test_a_file_that_a_clean_takes_meanwhile_is_nobodys_fault", "test_workers.py::test_damaged_ends"),
    ),
    Fault(
        FORMAT,
        '        return "" if footer <= size - _PARQUET_LEAST else',
        '        return "" if footer <= size else',
        "a footer that does not fit its file passes",
        (f"{FORMAT_TESTS}::test_a_footer_that_is_longer_than_its_file",),
    ),
    Fault(
        FORMAT,
        '_PARQUET = (b"PAR1", ENCRYPTED)',
        '_PARQUET = (b"PAR1",)',
        "a file with an encrypted footer is called damaged",
        (f"{FORMAT_TESTS}::test_an_encrypted_footer_is_one",),
    ),
    Fault(
        METAFILE,
        "        if value is None:\n",
        "        if value is None and key == _COMMIT:\n",
        "a metafile that is cut after its commit passes",
        (f"{METAFILE_TESTS}::test_what_is_wrong_is_told", "test_workers.py::test_damaged_metafiles"),
    ),
    Fault(
        METAFILE,
        "    if int(found[_DEPTH]) != depth_of(partition):\n",
        "    if False:\n",
        "a metafile of another folder passes",
        (f"{METAFILE_TESTS}::test_what_is_wrong_is_told",),
    ),
    Fault(
        WORKERS,
        "        except FileNotFoundError:\n            continue\n        if extension:\n",
        "        except FileNotFoundError:\n            body = b''\n        if extension:\n",
        "a metafile of the base file format is called damaged",
        ("test_workers.py::test_damaged_metafiles",),
    ),
    Fault(
        WORKERS,
        '    for extension in ("", *METAFILE_EXTENSIONS):\n',
        '    for extension in ("",):\n',
        "a torn metafile in ORC passes",
        ("test_workers.py::test_damaged_metafiles", "reports/health/test_files.py::test_a_damaged_metafile_in_orc"),
    ),
    Fault(
        FILES,
        "        if not extension:\n",
        "        if True:\n",
        "a metafile in ORC is to be overwritten with text",
        ("reports/health/test_files.py::test_a_damaged_metafile_in_orc",),
    ),
    Fault(
        FORMAT,
        '    if name.endswith(".lance"):\n',
        "    if False:\n",
        "a whole file in Lance is called damaged",
        (f"{FORMAT_TESTS}::test_base_files_of_real_tables",),
    ),
    Fault(
        FORMAT,
        "        and buffer_table + buffers * _LANCE_ENTRY <= size - _LANCE.size\n",
        "",
        "the end of one file in Lance behind less than its beginning passes",
        (f"{FORMAT_TESTS}::test_a_lance_footer_that_does_not_fit",),
    ),
)
