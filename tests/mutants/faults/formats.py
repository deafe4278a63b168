"""What the bytes mean: damage that must be refused."""

from tests.mutants.fault import Fault

HFILE = "formats/hfile.py"
CONTENTS = "formats/log_contents.py"
BLOCKS = "formats/log_blocks.py"
CLEAN = "formats/clean.py"
NAMES = "formats/file_names.py"
PLANS = "formats/plans.py"

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
    Fault(
        HFILE,
        "    if count != file.trailer.entry_count:\n",
        "    if count < 0:\n",
        "an HFile that has lost entries counts as sound",
        ("formats/test_hfile.py::test_a_trailer_that_counts_wrongly",),
    ),
    Fault(
        HFILE,
        "        if pointer.offset <= last_offset:",
        "        if pointer.offset < last_offset:",
        "a block without entries is read again and again",
        ("formats/test_hfile.py::test_a_block_that_the_index_names_twice_is_damage",),
    ),
    Fault(
        HFILE,
        "covered = checksum == CHECKSUM_NONE or (checksum == CHECKSUM_CRC32C and",
        "covered = checksum == CHECKSUM_NONE or (",
        "a checksum of an unknown kind counts as right",
        ("formats/test_hfile.py::test_absurd_sizes_in_a_header",),
    ),
    Fault(
        HFILE,
        '(checksum == CHECKSUM_CRC32C and file.trailer.codec == "GZ")',
        "checksum == CHECKSUM_CRC32C",
        "flipped bytes of an HFile that is not compressed are read",
        ("formats/test_hfile.py::test_crc32c",),
    ),
    Fault(
        HFILE,
        "    if not stream.eof:\n",
        "    if False:\n",
        "a cut gzip stream counts as sound",
        ("formats/test_hfile.py::test_a_gzip_bomb_is_not_unpacked",),
    ),
    Fault(
        HFILE,
        "    if fields.get(13):\n",
        "    if False:\n",
        "an encrypted HFile is called damaged",
        ("formats/test_hfile.py::test_an_encrypted_file_is_refused_as_such",),
    ),
    Fault(
        HFILE,
        "end = bisect_left(wanted, index[number + 1].key) if",
        "end = bisect_left(wanted, pointer.key) if",
        "a look-up misses keys",
        ("formats/test_hfile.py::test_what_is_not_asked_for_is_not_read",),
    ),
    Fault(
        CONTENTS,
        "page_checksum_verification=True",
        "page_checksum_verification=False",
        "flipped bytes in a Parquet page are not told",
        ("formats/test_log_contents.py::test_other_bytes_in_a_parquet_page_than_its_checksum_is_of_are_damage",),
    ),
    Fault(
        CONTENTS,
        "        if version == CONTENT_VERSION:\n            return decode_delete_list(payload)\n",
        "        if version >= CONTENT_VERSION:\n            return decode_delete_list(payload)\n",
        "a delete block of a newer version is read by old rules",
        ("formats/test_log_contents.py::test_an_unknown_version_of_a_delete_block_is_refused_by_name",),
    ),
    Fault(
        "formats/delete_records.py",
        "    if body.tell() != len(payload):\n",
        "    if False:\n",
        "bytes behind the last delete record are passed over",
        ("formats/test_log_contents.py::test_a_delete_block_whose_length_is_not_its_payloads_is_damaged",),
    ),
    Fault(
        BLOCKS,
        '    if (trailing := struct.unpack_from(">q", tail, _TAIL - _TRAILER)[0]) != length + len(MAGIC):\n',
        "    if (trailing := 0) == -1:\n",
        "a block whose end is another's counts as whole",
        ("formats/test_log_blocks.py::test_every_corrupt_block_says_why",),
    ),
    Fault(
        BLOCKS,
        "    if not 0 <= content_length <= limit - 4 - content:\n",
        "    if content_length < 0:\n",
        "a content that does not fit its block is read",
        ("formats/test_log_blocks.py::test_every_corrupt_block_says_why",),
    ),
    Fault(
        BLOCKS,
        "    if position != limit:\n",
        "    if False:\n",
        "bytes behind a footer are passed over",
        ("formats/test_log_blocks.py::test_every_corrupt_block_says_why",),
    ),
    Fault(
        BLOCKS,
        "self.header.get(COMMAND_BLOCK_TYPE) != ROLLBACK_BLOCK:",
        "False:",
        "every command block takes an instant back",
        ("formats/test_log_blocks.py::test_only_a_rollback_command_takes_something_back",),
    ),
    Fault(
        BLOCKS,
        "    while offset < end and size - offset >= len(MAGIC):\n        block",
        "    while offset < end and size - offset > len(MAGIC):\n        block",
        "a magic at the end is not told",
        ("formats/test_log_blocks.py::test_cut_at_every_byte",),
    ),
    Fault(
        BLOCKS,
        "header = {INSTANT_TIME: instant, COMMAND_BLOCK_TYPE: ROLLBACK_BLOCK, TARGET_INSTANT_TIME: target}",
        "header = {INSTANT_TIME: target, COMMAND_BLOCK_TYPE: ROLLBACK_BLOCK, TARGET_INSTANT_TIME: instant}",
        "a rollback block takes another instant back",
        ("formats/test_log_blocks.py::test_rollback_block_is_hudis_byte_for_byte",),
    ),
    Fault(
        CLEAN,
        '    if "policy" not in value or value.get("version") not in (None, 1, 2):\n',
        "    if False:\n",
        "a clean plan of a newer version deletes nothing, it seems",
        ("formats/test_clean.py::test_a_plan_of_another_kind_is_unreadable",),
    ),
    Fault(
        CLEAN,
        '        files.setdefault(path, set()).update(_name(info["filePath"] or "") for info in infos)\n',
        "        pass\n",
        "a clean plan of version 2 names nothing",
        ("formats/test_clean.py::test_real_plans",),
    ),
    Fault(
        CLEAN,
        'frozenset(_name(name) for name in entry["successDeleteFiles"])',
        'frozenset(entry["successDeleteFiles"])',
        "a clean that names whole paths took nothing",
        ("formats/test_clean.py::test_a_clean_that_names_whole_paths_has_deleted_their_files",),
    ),
    Fault(
        PLANS,
        '*(entry.get("deltaFilePaths") or ()))',
        ")",
        "a pending compaction does not need its logs",
        ("formats/test_plans.py::test_a_compaction_reads_base_files_and_logs",),
    ),
    Fault(
        PLANS,
        '        (entry["partitionPath"] or "", path.rpartition("/")[2])\n',
        '        (entry["partitionPath"] or "", path)\n',
        "a plan with whole paths names nothing",
        ("formats/test_plans.py::test_real_requests_of_replacecommits",),
    ),
    Fault(
        PLANS,
        'return self.operation == "CLUSTER"',
        "return bool(self.operation)",
        "every pending replacecommit is a clustering",
        ("formats/test_plans.py::test_a_replacecommit_of_another_operation_is_no_clustering",),
    ),
    Fault(
        "formats/avro.py",
        "        records = list(reader)\n",
        "        records = [next(reader)]\n",
        "a file that is cut behind its record counts as whole",
        ("formats/test_avro.py::test_cut_in_the_last_marker",),
    ),
    Fault(
        "formats/commit_metadata.py",
        (
            "    if type(total) is not int or not isinstance(stat.file_id, str) or not "
            'isinstance(stat.path or "", str):\n'
        ),
        "    if False:\n",
        "damaged statistics are read",
        ("formats/test_commit_metadata.py::test_statistics_of_wrong_types_are_unreadable",),
    ),
    Fault(
        "formats/markers.py",
        "    if last or not body:\n",
        "    if not body:\n",
        "a file of markers that is cut counts as whole",
        ("formats/test_markers.py::test_a_file_that_lacks_its_last_line_feed_is_cut",),
    ),
    Fault(
        "formats/markers.py",
        "return Marker(partition, name, kind) if separator and name and kind in KINDS else None",
        "return Marker(partition, name, kind) if separator and name else None",
        "a marker of a kind that nobody knows counts",
        ("formats/test_markers.py::test_no_markers",),
    ),
    Fault(
        NAMES,
        "    if match is None or int(match[3]) == 0:\n",
        "    if match is None:\n",
        "a log of version 0 counts as a base file",
        ("formats/test_file_names.py::test_other_files_are_never_data_files",),
    ),
    Fault(
        NAMES,
        "max(same, default=0) + 1",
        "max(same, default=0)",
        "a rollback block goes to a log that is there",
        ("formats/test_file_names.py::test_the_next_log_has_the_name_that_hudi_gave_it",),
    ),
    Fault(
        NAMES,
        "return self.instant, self.version, self.write_token, self.cdc",
        "return self.instant, self.write_token, self.version, self.cdc",
        "logs are read in the wrong order",
        ("formats/test_file_names.py::test_log_order_is_hudis",),
    ),
    Fault(
        "formats/restore.py",
        (
            'rollbacks = [entry for entries in value["hoodieRestoreMetadata"].values() for entry in '
            "entries or () if entry]"
        ),
        (
            'rollbacks = [entry for entries in value["hoodieRestoreMetadata"].values() for entry in '
            "(entries or ())[:0] if entry]"
        ),
        "a restore has worked in no partition",
        ("formats/test_restore.py::test_a_restore_has_worked_in_the_partitions_of_all_its_rollbacks",),
    ),
    Fault(
        "formats/rollback.py",
        'return Undone(dict.fromkeys(value["commitsRollback"], "") | actions,',
        "return Undone(actions,",
        "an old rollback has taken nothing back",
        ("formats/test_rollback.py::test_a_rollback_of_old_names_its_instants_without_their_actions",),
    ),
    Fault(
        "formats/metadata_records.py",
        "            merged[name] = entry._replace(size=max(entry.size, old.size))\n",
        "            merged[name] = entry\n",
        "the metadata table lists a log too short",
        ("formats/test_metadata_records.py::test_sizes_grow_and_the_newer_instant_counts",),
    ),
    Fault(
        "formats/savepoint.py",
        'for path, entry in sorted(value["partitionMetadata"].items())}',
        'for path, entry in sorted(value["partitionMetadata"].items()) if path}',
        "a savepoint of a table without partitions names nothing",
        ("formats/test_savepoint.py::test_the_files_of_a_table_without_partitions_are_named_too",),
    ),
)
