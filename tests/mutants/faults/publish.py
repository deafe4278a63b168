"""What publishes and un-publishes: instant files, their copies, the blocks of version 6, the timeline."""

from tests.mutants.fault import Fault

BACKUP = "ops/undo/backup.py"
BLOCKS = "ops/undo/blocks.py"
INSTANTS = "ops/undo/instants.py"
PHASES = "ops/undo/phases.py"
TIMELINE = "table/timeline.py"

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
        "            _sync_folder(os.path.dirname(self.absolute(source)))\n            return True\n",
        "            return True\n",
        "after a power failure the metadata table is back, and lists files that are gone",
    ),
    # More.
    Fault(
        BACKUP,
        "            if file.state is State.COMPLETED or pending_too:\n",
        "            if file.state is State.COMPLETED:\n",
        "--keep-backup keeps no pending files",
    ),
    Fault(
        BACKUP,
        "        if removal.instant is not None and removal.instant.pending and removal.time in taken:\n"
        "            continue\n",
        "",
        "a rerun copies the pending files that un-publishing has made, as if they were the instant's own",
    ),
    Fault(
        BACKUP,
        "    own = [file for file in _copies(table) if file.time in times]\n",
        "    own = _copies(table)\n",
        "the copies of other instants are deleted, too",
    ),
    Fault(
        BACKUP,
        "    if own and not _names(table):\n",
        "    if own:\n",
        "the folder of copies goes with those of others",
    ),
    Fault(
        BACKUP,
        "table.storage.read(_path(file)), file.completion_time\n",
        "table.storage.read(_path(file)), file.time\n",
        "an instant that is published again has another completion time than before",
    ),
    Fault(
        INSTANTS,
        "        requests.append(RollbackRequest(block.partition, (), block.file_id, block.base_instant, logs))\n",
        "",
        "a Hudi writer that finishes the rollback leaves rows in logs",
    ),
    Fault(
        INSTANTS,
        '    depth = len(partition.split("/")) if partition else 0\n',
        "    depth = 1\n",
        "Hudi takes a nested partition's metafile for one level",
    ),
    Fault(
        INSTANTS,
        "    while instant_now(table) <= moment < far:\n",
        "    while instant_now(table) <= moment:\n",
        "a restore whose time is from another zone waits for hours",
    ),
    Fault(
        INSTANTS,
        "        create_instant_file(table, instant.time, action, State.INFLIGHT)\n",
        "",
        "an un-published compaction is requested without a plan",
    ),
    Fault(
        INSTANTS,
        "if file.action in (fmt.COMPACTION, fmt.LOGCOMPACTION)]",
        "if file.action == fmt.COMPACTION]",
        "Hudi's own resume ends at a log compaction",
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
    ),
    Fault(
        TIMELINE,
        "file = instant.file(State.REQUESTED if instant.action == fmt.RESTORE else State.COMPLETED)",
        "file = instant.file(State.COMPLETED)",
        "the instants of a restore that was resumed do not count as taken back",
    ),
    Fault(
        TIMELINE,
        "        if table.storage.read(path) != body:\n",
        "        if not table.storage.read(path):\n",
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
        "moment = datetime.fromtimestamp(modified_ms[file.name] / 1000, table.zone)",
        "moment = datetime.fromtimestamp(modified_ms[file.name] / 1000, timezone.utc)",
        "version 6: completion times are in another zone than requested ones",
    ),
    Fault(
        BLOCKS,
        "        if entry is not None and time not in trusted and",
        "        if entry is not None and",
        "the rest of a restore reads all logs again, and may mark other slices than its stored rollbacks",
    ),
    Fault(
        BLOCKS,
        "if entry.pending or not facts.commits[entry.time].stats)",
        "if entry.pending)",
        "version 6: rows stay in the logs of an instant whose commit file is empty",
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
    ),
    Fault(
        BLOCKS,
        "            base = opened if last.data.instant < opened <= time else last.data.instant\n",
        "            base = last.data.instant\n",
        "the slice that a pending compaction has opened gets no block",
    ),
    Fault(
        BLOCKS,
        "    planned = {time: stored_targets(stored[time]) for time in removed if time in stored}\n",
        "    planned: dict[str, set[BlockTarget]] = {}\n",
        "a resume forgets the slices that only the stored rollback names",
    ),
    Fault(
        BLOCKS,
        "            targets |= _named(facts, _begun(facts, entry.time) | scanned.get(entry.time, set()))\n",
        "            targets |= _named(facts, _begun(facts, entry.time))\n",
        "rows of a failed write without markers stay in the logs",
    ),
    Fault(
        BLOCKS,
        "            targets |= _named(facts, _begun(facts, entry.time) | scanned.get(entry.time, set()))\n",
        "            targets |= _named(facts, scanned.get(entry.time, set()))\n",
        "a failed write's log without a whole block yet gets no block",
    ),
    Fault(
        PHASES,
        "return self.value[0] > Phase.UNPUBLISH.value[0]",
        "return self.value[0] > Phase.DELETE_FILES.value[0]",
        "files of an instant that was published again are deleted",
    ),
)
