"""What the bytes mean: damage that must be refused."""

from tests.mutants.fault import Fault

HFILE = "formats/hfile.py"
CONTENTS = "formats/log_contents.py"
BLOCKS = "formats/log_blocks.py"
CLEAN = "formats/clean.py"
NAMES = "formats/file_names.py"

FAULTS = (
    Fault(
        HFILE,
        "            if last_key is not None and key <= last_key:\n",
        "            if last_key is not None and key < last_key:\n",
        "an HFile with a key twice counts as sound",
        ("formats/test_hfile.py::test_a_key_that_stands_twice_is_damage",),
    ),
    Fault(
        CONTENTS,
        "        if length != len(payload):\n",
        "        if False:\n",
        "a damaged delete block counts as sound",
        ("formats/test_log_contents.py::test_a_delete_block_whose_length_is_not_its_payloads_is_damaged",),
    ),
    Fault(
        HFILE,
        "        if content[value - tail : value] != KEY_TAIL or content[position - 1]:\n",
        "        if False:\n",
        "a deleted key is read as a value",
        ("formats/test_hfile.py::test_a_key_of_another_kind_than_a_put_is_not_read_as_one",),
    ),
    Fault(
        CONTENTS,
        "    if source.tell() != start + length:\n",
        "    if False:\n",
        "a record that is cut by another schema counts as sound",
        ("formats/test_log_contents.py::test_damaged_avro_contents_are_named",),
    ),
    Fault(
        CONTENTS,
        "    if position != size:\n",
        "    if False:\n",
        "records behind the last one are passed over",
        ("formats/test_log_contents.py::test_damaged_avro_contents_are_named",),
    ),
    Fault(
        CONTENTS,
        "    if count != file.metadata.num_rows:\n",
        "    if False:\n",
        "a Parquet block that has lost rows counts as sound",
        ("formats/test_log_contents.py::test_a_parquet_block_with_fewer_rows_than_its_footer_counts_is_damaged",),
    ),
    Fault(
        BLOCKS,
        "    if len(behind) == len(MAGIC) and behind != MAGIC:\n",
        "    if False:\n",
        "what follows a block is passed over",
        ("formats/test_log_blocks.py::test_six_bytes_behind_the_last_block_make_it_corrupt",),
    ),
    Fault(
        CLEAN,
        'frozenset(value.get("partitionsToBeDeleted") or ()),',
        "frozenset(),",
        "a clean that deletes partitions whole is not seen",
        ("formats/test_clean.py::test_plan_of_version_1_names_files_alone",),
    ),
    Fault(
        "formats/avro.py",
        "    if record.name not in expected:\n",
        "    if False:\n",
        "the body of another action is read",
        ("formats/test_avro.py::test_another_records_file",),
    ),
    Fault(
        NAMES,
        "(file.file_id, file.instant, file.cdc) == (file_id, instant, cdc))",
        "(file.file_id, file.instant) == (file_id, instant))",
        "change logs push the version of a log",
        ("formats/test_file_names.py::test_the_next_log_is_read_after_all_others_of_its_kind",),
    ),
    Fault(
        "formats/restore.py",
        'return RestorePlan(instants, value.get("savepointToRestoreTimestamp"))',
        "return RestorePlan(instants, None)",
        "the target of a pending restore is not known",
        ("formats/test_restore.py::test_real_plans",),
    ),
    Fault(
        "formats/metadata_records.py",
        ("        elif entry.deleted:\n            del merged[name]\n"),
        ("        elif entry.deleted:\n            pass\n"),
        "the metadata table lists files that it has deleted",
        ("formats/test_metadata_records.py::test_a_deletion_takes_the_file_away_and_goes_too",),
    ),
)
