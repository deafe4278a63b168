"""What publishes and un-publishes: instant files, their copies, the blocks of version 6, the timeline."""

from tests.mutants.fault import Fault

BACKUP = "ops/undo/backup.py"
BLOCKS = "ops/undo/blocks.py"
INSTANTS = "ops/undo/instants.py"
PHASES = "ops/undo/phases.py"
TIMELINE = "table/timeline/active.py"

FAULTS = (
    Fault(
        INSTANTS,
        "    services = [file for file in instant.files if file.action in (fmt.COMPACTION, fmt.LOGCOMPACTION)]\n"
        "    delete_instant_files(table, tuple(reversed(services)))\n",
        "    services = [file for file in instant.files if file.action in (fmt.COMPACTION, fmt.LOGCOMPACTION)]\n"
        "    delete_instant_files(table, [file for file in instant.files if file.state is State.COMPLETED])\n"
        "    delete_instant_files(table, tuple(reversed(services)))\n",
        "for a moment two compactions of one file group are pending: every reader fails",
    ),
    Fault(
        INSTANTS,
        "    if plan.target.time != target:\n",
        "    if not plan.target.time:\n",
        "an instant is un-published while its rollback's plan takes another one back",
    ),
    Fault(
        TIMELINE,
        "        table.storage.sync(table.layout.timeline)\n",
        "",
        "after a power failure a request is gone whose completed file is still there",
    ),
    Fault(
        "storage/local.py",
        (
            "                    sync_folder(folder)\n"
            "            except FileNotFoundError:\n                return False\n"
        ),
        "            except FileNotFoundError:\n                return False\n",
        "after a power failure the metadata table is back, and lists files that are gone",
        tests=("storage/test_local.py::test_a_move_is_on_the_disk_when_it_is_told",),
    ),
    # More.
    Fault(
        BACKUP,
        "            if file.state is State.COMPLETED or pending_too:\n",
        "            if file.state is State.COMPLETED:\n",
        "--keep-backup keeps no pending files",
        tests=("ops/undo/test_backup.py::test_they_stay_complete_whoever_finishes_the_restore",),
    ),
    Fault(
        BACKUP,
        "removal.time in (taken if removal.instant.pending else whole)",
        "(not removal.instant.pending and removal.time in whole)",
        "a rerun copies the pending files that un-publishing has made, as if they were the instant's own",
        tests=("ops/undo/test_backup.py::test_they_stay_complete_whoever_finishes_the_restore",),
    ),
    Fault(
        BACKUP,
        "removal.time in (taken if removal.instant.pending else whole)",
        "(removal.instant.pending and removal.time in taken)",
        "a rerun copies the pending commit that stands for a compaction's plan already",
        tests=("ops/undo/test_backup.py::test_files_of_hudictls_own_are_not_copied",),
    ),
    Fault(
        BACKUP,
        "    own = [file for file in _copies(table) if file.time in times]\n",
        "    own = _copies(table)\n",
        "the copies of other instants are deleted, too",
        tests=("ops/undo/test_backup.py::test_what_was_there_already_is_not_touched",),
    ),
    Fault(
        BACKUP,
        "    delete_all(table.storage, [_path(file) for file in own])\n",
        "    table.storage.delete([_path(file) for file in own])\n",
        "a copy that cannot be deleted stays, and nobody is told",
        tests=("ops/undo/test_backup.py::test_a_copy_that_stays_is_told",),
    ),
    Fault(
        BACKUP,
        "    if own and not entries_of(table.storage, ROLLBACK_BACKUP):\n",
        "    if own:\n",
        "the folder of copies goes with those of others",
        tests=("ops/undo/test_backup.py::test_what_was_there_already_is_not_touched",),
    ),
    Fault(
        BACKUP,
        "        file.completion_time,\n",
        "        file.time,\n",
        "an instant that is published again has another completion time than before",
        tests=("ops/restore/test_withdraw.py::test_while_nothing_was_deleted_a_restore_can_be_withdrawn",),
    ),
    Fault(
        INSTANTS,
        "        requests.append(RollbackRequest(block.partition, (), block.file_id, block.base_instant, logs))\n",
        "",
        "a Hudi writer that finishes the rollback leaves rows in logs",
        tests=("ops/undo/test_untouched.py::test_not_where_a_rollback_block_is_there",),
    ),
    Fault(
        "formats/partition_metafile.py",
        '    return len(partition.split("/")) if partition else 0\n',
        "    return 1\n",
        "Hudi takes a nested partition's metafile for one level",
        tests=("formats/test_partition_metafile.py::test_real_files",),
    ),
    Fault(
        INSTANTS,
        "    while instant_now(table) <= moment < far:\n",
        "    while instant_now(table) <= moment:\n",
        "a restore whose time is from another zone waits for hours",
        tests=("ops/restore/test_clock.py::test_a_restore_with_a_time_that_is_hours_ahead_is_resumed",),
    ),
    Fault(
        INSTANTS,
        "        create_instant_file(table, instant.time, action, State.INFLIGHT)\n",
        "",
        "an un-published compaction is requested without a plan",
        tests=("ops/restore/test_execute.py::test_a_commit_without_pending_files_gets_them",),
    ),
    Fault(
        INSTANTS,
        "if file.action in (fmt.COMPACTION, fmt.LOGCOMPACTION)]",
        "if file.action == fmt.COMPACTION]",
        "Hudi's own resume ends at a log compaction",
        tests=("ops/restore/test_log_compaction.py::test_it_is_pending_as_a_delta_commit_until_it_goes",),
    ),
    Fault(
        INSTANTS,
        "        deleted.setdefault(request.partition, []).extend(map(table.storage.absolute, paths))\n",
        "        deleted[request.partition] = list(map(table.storage.absolute, paths))\n",
        "the rollback's metadata names the files of one request of a partition only",
    ),
    Fault(
        TIMELINE,
        'return max((max(entry.time, entry.completion_time or "") for entry in self.instants), default="")',
        'return max((entry.time for entry in self.instants), default="")',
        "a new instant has a time before the completion of another",
    ),
    Fault(
        TIMELINE,
        "return now_ms - max(self.modified_ms[file.name] for file in instant.files)",
        "return now_ms - min(self.modified_ms[file.name] for file in instant.files)",
        "a rollback that began long ago and works now counts as silent",
    ),
    Fault(
        TIMELINE,
        "    if last >= now:\n",
        "    if last > now:\n",
        "two instants have the same time",
    ),
    Fault(
        TIMELINE,
        "        if instant.completed and not empty_result(timeline, instant):\n            continue\n",
        "        if instant.completed:\n            continue\n",
        "a rollback with an empty result counts as completed",
        tests=("state/test_pending.py::test_conditions_of_a_rollback",),
    ),
    Fault(
        TIMELINE,
        "file = instant.file(State.REQUESTED if instant.action == fmt.RESTORE else State.COMPLETED)",
        "file = instant.file(State.COMPLETED)",
        "the instants of a restore that was resumed do not count as taken back",
    ),
    Fault(
        TIMELINE,
        "        if table.storage.read(path, 0, len(body) + 1) != body:\n",
        "        if not table.storage.read(path, 0, len(body) + 1):\n",
        "another's instant file of the same name counts as one's own",
    ),
    Fault(
        TIMELINE,
        '            raise StorageFailed(f"cannot delete {file.name}: {outcome.error}", path=outcome.path)\n',
        "            continue\n",
        "a request is deleted though its completed file could not be",
    ),
    Fault(
        TIMELINE,
        "        delete_instant_files(table, tuple(reversed(instant.files)))\n",
        "        delete_instant_files(table, instant.files)\n",
        "a death while an instant goes leaves it without its plan",
    ),
    Fault(
        TIMELINE,
        "    return max(instant_now(table), requested)\n",
        "    return instant_now(table)\n",
        "an instant is completed before it was requested, for those who compare",
    ),
    Fault(
        TIMELINE,
        "moment = datetime.fromtimestamp(entry.modified_ms / 1000, table.zone)",
        "moment = datetime.fromtimestamp(entry.modified_ms / 1000, timezone.utc)",
        "version 6: completion times are in another zone than requested ones",
    ),
    Fault(
        BLOCKS,
        "        if there is not None and time not in trusted and",
        "        if there is not None and",
        "the rest of a restore reads all logs again, and may mark other slices than its stored rollbacks",
    ),
    Fault(
        BLOCKS,
        "for time, commit in appended.items() if not commit.stats or time in partly_told)",
        "for time in appended if removed[time] is None or removed[time].pending)",
        "version 6: rows stay in the logs of an instant whose commit file is empty",
        tests=("ops/restore/test_resume.py::test_a_delta_commit_whose_metadata_is_empty_leaves_no_rows",),
    ),
    Fault(
        BLOCKS,
        "for key in sorted(by_slice) if key[2] not in removed and key in there)",
        "for key in sorted(by_slice) if key[2] not in removed)",
        "a rollback block is all that there is of a slice, and readers take it for the newest",
    ),
    Fault(
        BLOCKS,
        "for key in sorted(by_slice) if key[2] not in removed and key in there)",
        "for key in sorted(by_slice) if key in there)",
        "blocks are written into slices that go",
        tests=("ops/undo/test_hashing.py::test_the_rest_of_a_restore_deletes_what_is_left",),
    ),
    Fault(
        BLOCKS,
        "            base = opened if last.data.instant < opened <= time else last.data.instant\n",
        "            base = last.data.instant\n",
        "a slice is marked that the write cannot have touched: a pending compaction had opened another one",
    ),
    Fault(
        BLOCKS,
        "    planned = {time: stored_targets(stored[time]) for time in removed if time in stored}\n",
        "    planned: dict[str, set[BlockTarget]] = {}\n",
        "a resume forgets the slices that only the stored rollback names",
        tests=("ops/restore/test_parity.py::test_every_slice_hudi_marked_is_marked_for_the_same_instants",),
    ),
    Fault(
        BLOCKS,
        "{*begun, *scanned.get(time, ())}",
        "{*begun}",
        "rows of a failed write without markers stay in the logs",
        tests=("ops/rollback/test_execute.py::test_a_failed_write_without_its_markers",),
    ),
    Fault(
        BLOCKS,
        "{*begun, *scanned.get(time, ())}",
        "{*scanned.get(time, ())}",
        "a failed write's log without a whole block yet gets no block",
    ),
    Fault(
        PHASES,
        "return self.value[0] > Phase.UNPUBLISH.value[0]",
        "return self.value[0] > Phase.DELETE_FILES.value[0]",
        "files of an instant that was published again are deleted",
        tests=("ops/rollback/test_beside.py::test_somebody_publishes_the_instant_again",),
    ),
)
