"""The stores, and what runs on executors."""

from tests.mutants.fault import Fault

LOCAL = "storage/local.py"
DESCRIPTORS = "storage/descriptors.py"
BASE = "storage/base.py"
METADATA_TABLE = "table/metadata/aside.py"
METADATA_RECORD = "state/metadata/record.py"
WORKERS = "workers.py"
MARKERS = "table/writers/markers.py"
REMOTE = "storage/remote.py"
S3 = "storage/s3.py"
AZURE = "storage/azure.py"
KEEPING = "storage/keeping.py"
AZURE_COPIES = ("storage/test_azure_copies.py",)
FATES = "table/logs/scan.py"

FAULTS = (
    Fault(
        REMOTE,
        " and not self.unfinished([target])",
        "",
        "an empty blob counts as the copy of a file, which is deleted",
        AZURE_COPIES,
    ),
    Fault(
        KEEPING,
        " and kept_path(room, path) not in not_whole",
        "",
        "an undo replaces a file by an empty one that was to become its copy",
        AZURE_COPIES,
    ),
    Fault(
        AZURE,
        "while (found := self._copy_of(target)) is not None and found",
        "while False and (found := self._copy_of(target)) is not None and found",
        "a file whose copy ends after the answer is left, and the operation incomplete",
        AZURE_COPIES,
    ),
    Fault(
        BASE,
        "    if size > most_bytes:\n",
        "    if False:\n",
        "a file of any size is read into memory",
        ("storage/test_local.py::test_a_file_of_more_bytes_than_its_kind_has",),
    ),
    Fault(
        LOCAL,
        "min(length, left)",
        "length",
        "a small file takes as much memory as the largest of its kind",
        ("storage/test_local.py::test_a_small_file_takes_little_memory_whatever_the_limit",),
    ),
    Fault(
        LOCAL,
        "                    sync_folder(folder)\n",
        "",
        "the metadata table has its old name again after a power failure",
        ("storage/test_local.py::test_what_is_done_is_on_the_disk",),
    ),
    Fault(
        LOCAL,
        (
            "                finally:\n                    unlink_in(temporary, scratch)\n"
            "            sync_folder(folder)\n"
        ),
        ("                finally:\n                    unlink_in(temporary, scratch)\n"),
        "a created file is gone after a power failure",
        ("storage/test_local.py::test_what_is_done_is_on_the_disk",),
    ),
    Fault(
        LOCAL,
        (
            "                    unlink_in(temporary, scratch)\n                    raise\n"
            "            sync_folder(folder)\n"
        ),
        ("                    unlink_in(temporary, scratch)\n                    raise\n"),
        "a replaced file is the old one after a power failure",
        ("storage/test_local.py::test_what_is_done_is_on_the_disk",),
    ),
    Fault(
        LOCAL,
        "                    os.fsync(descriptor)\n",
        "",
        "a file is empty after a power failure",
        ("storage/test_local.py::test_what_is_done_is_on_the_disk",),
    ),
    Fault(
        LOCAL,
        "            sync_folder(descriptor)\n",
        "            pass\n",
        "nothing is ever synced that was deleted",
        ("storage/test_local.py::test_what_is_done_is_on_the_disk",),
    ),
    Fault(
        DESCRIPTORS,
        "            view = view[os.write(descriptor, view) :]\n",
        ("            os.write(descriptor, view)\n            break\n"),
        "a file is cut where the system writes less than asked",
        ("storage/test_local.py::test_a_body_is_written_whole_where_the_system_takes_less_at_a_time",),
    ),
    Fault(
        WORKERS,
        "    if listing.is_table or (listing.hidden and listing.linked):\n",
        "    if listing.is_table:\n",
        "a link back to a folder above never ends",
        ("test_workers.py::test_a_link_is_followed_to_look_and_never_to_delete",),
    ),
    Fault(
        WORKERS,
        "        elif target is None and block.instant in found:\n",
        "        elif False:\n",
        "data behind its rollback block comes back",
        ("test_workers.py::test_a_block_before_the_data_does_not_count",),
    ),
    Fault(
        WORKERS,
        "        if block.instant is not None and block.rollback_target is None:\n",
        "        if block.instant is not None:\n",
        "who rolled back counts as a writer of the log",
        ("test_workers.py::test_who_took_an_instant_back_is_no_writer_of_the_log",),
    ),
    Fault(
        WORKERS,
        "            for block in read_blocks(read_at, size, any_format=True):",
        "            for block in read_blocks(read_at, size):",
        "damage in one log ends a restore in its middle",
        ("test_workers.py::test_a_block_of_another_format_is_passed_over",),
    ),
    Fault(
        MARKERS,
        ("    if declared or server_files:\n        markers"),
        ("    if declared:\n        markers"),
        "markers of the timeline server are not read where the type is missing",
        ("table/writers/test_markers.py::test_without_a_type_the_files_tell",),
    ),
    Fault(
        LOCAL,
        "os.link(temporary, name, src_dir_fd=scratch, dst_dir_fd=folder, follow_symlinks=False)\n",
        "os.rename(temporary, name, src_dir_fd=scratch, dst_dir_fd=folder)\n",
        "a file of another process is overwritten",
        ("storage/test_local.py::test_the_loser_of_a_race_does_not_take_the_winners_place",),
    ),
    Fault(
        LOCAL,
        "            if lstat_in(name, folder) is not None:\n                raise FileExistsError(path)\n",
        "",
        "the sidecar of another's file goes",
        ("storage/test_local.py::test_create_is_exclusive",),
    ),
    Fault(
        LOCAL,
        "                    unlink_in(sidecar_name(name), folder)\n                    os.replace(",
        "                    os.replace(",
        "Hadoop refuses a replaced file for its checksum",
        ("storage/test_local.py::test_a_sidecar_goes_before_its_file_changes",),
    ),
    Fault(
        LOCAL,
        "            unlink_in(sidecar_name(name), folder)\n            unlink_in(name, folder)\n",
        "            unlink_in(name, folder)\n            unlink_in(sidecar_name(name), folder)\n",
        "a lone sidecar refuses the next file of the name",
        ("storage/test_local.py::test_a_sidecar_goes_before_its_file_changes",),
    ),
    Fault(
        LOCAL,
        "            return DeleteOutcome(path, error.strerror or str(error))\n        return",
        "            return DeleteOutcome(path)\n        return",
        "a file that could not be deleted counts as deleted",
        ("storage/test_local.py::test_one_failing_delete_does_not_stop_the_others",),
    ),
    Fault(
        LOCAL,
        "            remove_tree(name, above)\n",
        "            with suppress(OSError):\n                remove_tree(name, above)\n",
        "a folder that cannot be deleted counts as gone",
        ("storage/test_local.py::test_a_folder_that_cannot_be_deleted",),
    ),
    Fault(
        DESCRIPTORS,
        "        return os.stat(name, dir_fd=folder, follow_symlinks=False)\n    except",
        "        return os.stat(name, dir_fd=folder)\n    except",
        "a link in the table counts as what it points to",
        ("storage/test_untrusted.py::test_a_folder_that_is_a_link_goes_without_what_it_points_to",),
    ),
    Fault(
        DESCRIPTORS,
        "flags | os.O_NOFOLLOW, dir_fd=folder)",
        "flags, dir_fd=folder)",
        "files behind a link in the table are deleted",
        ("storage/test_untrusted.py::test_nothing_behind_a_link_is_changed",),
    ),
    Fault(
        METADATA_TABLE,
        'if not inside(path).startswith(f"{METADATA_TABLE}/")]',
        "if False]",
        "a record of a dropped metadata table names any file, and it is deleted",
        ("table/metadata/test_dropped.py::test_a_damaged_record_of_what_is_out_of_use",),
    ),
    Fault(
        METADATA_RECORD,
        "one_name(entry.partition)",
        "entry.partition",
        "a record of a kept metadata table names any folder, and it is deleted",
        ("state/metadata/test_record.py::test_a_damaged_record_is_told",),
    ),
    Fault(
        BASE,
        '"", ".", ".."',
        '"", "."',
        "a name in the table leads out of it",
        ("storage/test_untrusted.py::test_a_path_stays_in_the_table",),
    ),
    Fault(
        DESCRIPTORS,
        "        if error.errno != errno.EINVAL:\n            raise\n",
        "        if error.errno == errno.EINVAL:\n            raise\n",
        "a sync that failed counts as done",
        ("storage/test_local.py::test_faults",),
    ),
    Fault(
        LOCAL,
        "                    share_rights(descriptor, like, 0o666)\n",
        "",
        "the table's writers cannot read a file",
        ("ops/restore/test_places.py::test_a_tight_umask_locks_nobody_out",),
    ),
    Fault(
        REMOTE,
        "            if found == body:\n                return\n            if mode:",
        "            if mode:",
        "a write whose answer was lost counts as another's",
        ("storage/test_s3.py::test_a_lost_answer",),
    ),
    Fault(
        REMOTE,
        "            if mode:\n                raise FileExistsError(path) from error\n            raise\n",
        "            raise\n",
        "another's file is a failure of the store",
        ("storage/test_s3.py::test_a_lost_answer_to_a_create_that_came_too_late",),
    ),
    Fault(
        REMOTE,
        (
            "            if isinstance(error.__cause__, (PermissionError, FileNotFoundError))"
            " or _no_bucket(error) is not None:\n                raise\n"
        ),
        "",
        "a refused write counts as done, where the same bytes are there",
        ("storage/test_remote.py::test_a_write_that_is_refused_is_told_though_the_same_bytes_are_there",),
    ),
    Fault(
        REMOTE,
        "        if _no_bucket(error) is None:\n            raise\n",
        "        raise\n",
        "a bucket that is not there counts as an empty folder",
        ("storage/test_s3.py::test_a_bucket_that_is_not_there",),
    ),
    Fault(
        REMOTE,
        "            if self.stat(path) is not None:\n                raise FileExistsError(path)\n",
        "",
        "a file of another is overwritten",
    ),
    Fault(
        S3,
        'if entry.get("Code") != "NoSuchKey"]',
        "]",
        "a file that is gone already counts as one that could not be deleted",
        ("storage/test_s3.py::test_a_store_that_calls_an_absent_key_an_error",),
    ),
    Fault(
        S3,
        "            return dict.fromkeys(names, Kept(words(error), isinstance(error, TooLateError)))\n",
        "            return {}\n",
        "files of a lost answer count as deleted",
        ("storage/test_s3.py::test_a_lost_answer_to_a_deletion",),
    ),
    Fault(
        REMOTE,
        "        return [DeleteOutcome(path, errors.get(self._path(path))) for path in paths]",
        "        return [DeleteOutcome(path) for path in paths]",
        "files that an object store keeps count as deleted",
        ("storage/test_s3.py::test_a_store_that_calls_an_absent_key_an_error",),
    ),
    Fault(
        REMOTE,
        "        for start in range(0, len(paths), BATCH):\n            errors",
        "        for start in range(0, min(len(paths), BATCH), BATCH):\n            errors",
        "only the first thousand files go",
        ("storage/test_s3.py::test_a_full_batch_is_one_request",),
    ),
    Fault(
        S3,
        'settings["config_kwargs"] = {"max_pool_connections": AT_ONCE, **',
        'settings["config_kwargs"] = {**',
        "threads wait for a connection: a store is used at half of its speed",
    ),
    Fault(
        WORKERS,
        "        if storage.behind_link(partition):\n",
        "        if False:\n",
        "files behind a link are deleted",
        ("test_workers.py::test_a_link_is_followed_to_look_and_never_to_delete",),
    ),
    Fault(
        WORKERS,
        "        if storage.behind_link(partition):\n",
        "        if storage.behind_link(files[0][0]):\n",
        "files behind a link are deleted where the first partition of their batch is behind none",
        ("test_workers.py::test_a_link_is_followed_to_look_and_never_to_delete",),
    ),
    Fault(
        WORKERS,
        "    if listing.is_table or (listing.hidden and listing.linked):\n",
        "    if listing.hidden and listing.linked:\n",
        "the files of a table below are listed",
        ("test_workers.py::test_list_tree",),
    ),
    Fault(
        WORKERS,
        '        if not (is_dir or (name[0] == "." and sidecar_of(name) is not None))\n',
        "        if not is_dir\n",
        "sidecars count as files",
        ("test_workers.py::test_list_tree",),
    ),
    Fault(
        WORKERS,
        "    hidden = listing.hidden or listing.is_partition\n",
        "    hidden = listing.is_partition\n",
        "copies deep below a partition count as its files",
        ("test_workers.py::test_what_is_below_a_hidden_folder_is_hidden",),
    ),
    Fault(
        WORKERS,
        "            logs = (*task.logs, (name, status.size if status else 0))\n",
        "            logs = (*task.logs, (name, 0))\n",
        "a task that runs twice writes its blocks twice",
        ("test_workers.py::test_a_name_that_is_taken_meanwhile",),
    ),
    Fault(
        WORKERS,
        "    missing = [target for target in task.targets if target not in found]\n",
        "    missing = list(task.targets)\n",
        "a rerun writes each block again",
        ("test_workers.py::test_rollback_blocks_are_written_once",),
    ),
    Fault(
        WORKERS,
        "        if block.instant in instants and block.rollback_target is None\n",
        "        if block.instant in instants\n",
        "a log is marked for a rollback block that it holds",
        ("test_workers.py::test_scan_logs",),
    ),
    Fault(
        WORKERS,
        "            found = {pair for pair in found if pair[1] != block.rollback_target}\n",
        "            pass\n",
        "rows that were taken back count as rows",
        ("test_workers.py::test_rows_that_were_taken_back_are_no_subject_of_their_log_and_the_block_is",),
    ),
    Fault(
        WORKERS,
        "            if not may_vanish:\n                raise\n",
        "            pass\n",
        "a log that is gone has no rollback block to miss",
        ("test_workers.py::test_a_log_that_a_clean_has_taken_since_the_listing",),
    ),
    Fault(
        WORKERS,
        "    if top is None:\n        raise FileNotFoundError",
        "    if top is None:\n        return []\n    if False:\n        raise FileNotFoundError",
        "an executor that does not see the table lists nothing",
        ("test_workers.py::test_a_folder_that_is_not_there_is_an_error",),
    ),
    Fault(
        "engine/base.py",
        "    if errors:\n        raise StorageFailed(",
        "    if len(errors) == len(results) > 0:\n        raise StorageFailed(",
        "a task that failed counts as done",
        ("table/files/test_view.py::test_a_folder_that_cannot_be_listed",),
    ),
    Fault(
        MARKERS,
        "partial = untyped or partial or (",
        "partial = untyped or (",
        "a cut file of markers counts as whole",
        ("table/writers/test_markers.py::test_what_a_crash_left_of_a_server_file",),
    ),
    Fault(
        MARKERS,
        '        untyped = "" if declared else f"{TYPE_FILE} is missing or empty"\n',
        '        untyped = ""\n',
        "markers without their type count as whole",
        ("table/writers/test_markers.py::test_without_a_type_the_files_tell",),
    ),
    Fault(
        "storage/base.py",
        "        if outcome.error is not None:\n",
        "        if False:\n",
        "a backup of the properties that stays is no failure, and stays for good",
        ("table/test_properties.py::test_a_backup_that_stays_is_no_success",),
    ),
    Fault(
        FATES,
        "    rule = replace(rule, last=last)\n",
        "",
        "what a metadata table lists behind its newest rollback is called unlisted",
        ("table/metadata/test_listing.py",),
    ),
)
