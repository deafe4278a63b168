"""The stores, and what runs on executors."""

from tests.mutants.fault import Fault

LOCAL = "storage/local.py"
WORKERS = "workers.py"
MARKERS = "table/markers.py"
REMOTE = "storage/remote.py"
FATES = "table/log_fates.py"

FAULTS = (
    Fault(
        LOCAL,
        "            _sync_folder(os.path.dirname(self.absolute(source)))\n",
        "",
        "the metadata table has its old name again after a power failure",
        ("storage/test_local.py::test_what_is_done_is_on_the_disk",),
    ),
    Fault(
        LOCAL,
        (
            "            finally:\n"
            "                _unlink(temporary)\n"
            "            _sync_folder(os.path.dirname(target))\n"
        ),
        ("            finally:\n                _unlink(temporary)\n"),
        "a created file is gone after a power failure",
        ("storage/test_local.py::test_what_is_done_is_on_the_disk",),
    ),
    Fault(
        LOCAL,
        (
            "                _unlink(temporary)\n"
            "                raise\n"
            "            _sync_folder(os.path.dirname(target))\n"
        ),
        ("                _unlink(temporary)\n                raise\n"),
        "a replaced file is the old one after a power failure",
        ("storage/test_local.py::test_what_is_done_is_on_the_disk",),
    ),
    Fault(
        LOCAL,
        ("            os.fsync(descriptor)\n        except OSError:\n            _unlink(path)"),
        ("        except OSError:\n            _unlink(path)"),
        "a file is empty after a power failure",
        ("storage/test_local.py::test_what_is_done_is_on_the_disk",),
    ),
    Fault(
        LOCAL,
        "            _sync_folder(self.absolute(folder))\n",
        "            pass\n",
        "nothing is ever synced that was deleted",
        ("storage/test_local.py::test_what_is_done_is_on_the_disk",),
    ),
    Fault(
        LOCAL,
        "                view = view[os.write(descriptor, view) :]\n",
        ("                os.write(descriptor, view)\n                break\n"),
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
        ("table/test_markers.py::test_without_a_type_the_files_tell",),
    ),
    Fault(
        LOCAL,
        "                os.link(temporary, target)\n",
        "                os.rename(temporary, target)\n",
        "a file of another process is overwritten",
        ("storage/test_local.py::test_the_loser_of_a_race_does_not_take_the_winners_place",),
    ),
    Fault(
        LOCAL,
        "            if os.path.lexists(target):\n                raise FileExistsError(target)\n",
        "",
        "the sidecar of another's file goes",
        ("storage/test_local.py::test_create_is_exclusive",),
    ),
    Fault(
        LOCAL,
        "                _unlink(_sidecar(target))\n                os.replace(temporary, target)\n",
        "                os.replace(temporary, target)\n",
        "Hadoop refuses a replaced file for its checksum",
        ("storage/test_local.py::test_a_sidecar_goes_before_its_file_changes",),
    ),
    Fault(
        LOCAL,
        "            _unlink(_sidecar(target))\n            _unlink(target)\n",
        "            _unlink(target)\n            _unlink(_sidecar(target))\n",
        "a lone sidecar refuses the next file of the name",
        ("storage/test_local.py::test_a_sidecar_goes_before_its_file_changes",),
    ),
    Fault(
        LOCAL,
        "            return DeleteOutcome(path, error.strerror or str(error))\n",
        "            return DeleteOutcome(path)\n",
        "a file that could not be deleted counts as deleted",
        ("storage/test_local.py::test_one_failing_delete_does_not_stop_the_others",),
    ),
    Fault(
        LOCAL,
        "                shutil.rmtree(os.path.realpath(path))\n",
        "                shutil.rmtree(path, ignore_errors=True)\n",
        "a folder that cannot be deleted counts as gone",
        ("storage/test_local.py::test_a_folder_that_cannot_be_deleted",),
    ),
    Fault(
        LOCAL,
        "                shutil.rmtree(os.path.realpath(path))\n",
        "                os.path.islink(path) or shutil.rmtree(path)\n",
        "a folder behind a link outlives its deletion",
        ("storage/test_local.py::test_a_folder_that_is_a_link_goes_with_what_it_points_to",),
    ),
    Fault(
        LOCAL,
        "        if error.errno != errno.EINVAL:\n            raise\n",
        "        if error.errno == errno.EINVAL:\n            raise\n",
        "a sync that failed counts as done",
        ("storage/test_local.py::test_faults",),
    ),
    Fault(
        LOCAL,
        "            _share(descriptor, os.stat(like))\n",
        "",
        "the table's writers cannot read a file",
        ("ops/restore/test_places.py::test_a_tight_umask_locks_nobody_out",),
    ),
    Fault(
        REMOTE,
        "            if found == body:\n                return\n            if mode:",
        "            if mode:",
        "a write whose answer was lost counts as another's",
        ("storage/test_remote.py::test_a_lost_answer",),
    ),
    Fault(
        REMOTE,
        "            if mode:\n                raise FileExistsError(path) from error\n            raise\n",
        "            raise\n",
        "another's file is a failure of the store",
        ("storage/test_remote.py::test_a_lost_answer_to_a_create_that_came_too_late",),
    ),
    Fault(
        REMOTE,
        "            if isinstance(error.__cause__, PermissionError):\n                raise\n",
        "",
        "a refused write counts as done, where the same bytes are there",
        ("storage/test_remote.py::test_a_write_that_is_refused_is_told_though_the_same_bytes_are_there",),
    ),
    Fault(
        REMOTE,
        "            if self.stat(path) is not None:\n                raise FileExistsError(path)\n",
        "",
        "a file of another is overwritten",
    ),
    Fault(
        REMOTE,
        'if entry.get("Code") != "NoSuchKey"]',
        "]",
        "a file that is gone already counts as one that could not be deleted",
        ("storage/test_remote.py::test_a_store_that_calls_an_absent_key_an_error",),
    ),
    Fault(
        REMOTE,
        "            return dict.fromkeys(names, _words(error))\n",
        "            return {}\n",
        "files of a lost answer count as deleted",
        ("storage/test_remote.py::test_a_lost_answer_to_a_deletion",),
    ),
    Fault(
        REMOTE,
        "        return [DeleteOutcome(path, errors.get(self._path(path))) for path in paths]",
        "        return [DeleteOutcome(path) for path in paths]",
        "files that an object store keeps count as deleted",
        ("storage/test_remote.py::test_a_store_that_calls_an_absent_key_an_error",),
    ),
    Fault(
        REMOTE,
        "        for start in range(0, len(paths), BATCH):\n            errors",
        "        for start in range(0, min(len(paths), BATCH), BATCH):\n            errors",
        "only the first thousand files go",
    ),
    Fault(
        WORKERS,
        "    if task.storage.behind_link(task.partition):\n",
        "    if False:\n",
        "files behind a link are deleted",
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
        "        if block.instant in task.instants and block.rollback_target is None\n",
        "        if block.instant in task.instants\n",
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
        "table/sweep.py",
        "    if errors:\n        raise StorageFailed(",
        "    if len(errors) == len(results) > 0:\n        raise StorageFailed(",
        "a task that failed counts as done",
        ("table/test_file_view.py::test_a_folder_that_cannot_be_listed",),
    ),
    Fault(
        MARKERS,
        "partial = untyped or partial or (",
        "partial = untyped or (",
        "a cut file of markers counts as whole",
        ("table/test_markers.py::test_what_a_crash_left_of_a_server_file",),
    ),
    Fault(
        MARKERS,
        '        untyped = "" if declared else f"{TYPE_FILE} is missing or empty"\n',
        '        untyped = ""\n',
        "markers without their type count as whole",
        ("table/test_markers.py::test_without_a_type_the_files_tell",),
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
        ("table/test_metadata_listing.py",),
    ),
)
