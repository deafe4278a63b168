"""What is kept as old versions of a bucket: the record, the rights, the look before an undo, and what it removes."""

from tests.mutants.fault import Fault

KEEPING = "storage/keeping.py"
S3 = "storage/s3.py"
KEPT = "table/kept.py"
PLANNING = "ops/put_back/planning.py"
EXECUTE = "ops/put_back/execute.py"
DROP = "ops/put_back/drop.py"
RECORDED = ("storage/test_keeping_versions.py",)
TEST = "ops/put_back/test_undo_of_versions.py"
VERSIONS = ("storage/test_versions.py",)

FAULTS = (
    Fault(
        KEEPING,
        """        if found:
            # Also""",
        """        self.base.delete([path for path, entry in found.items() if entry.version])
        if found:
            # Also""",
        "after a death no record says which version was deleted",
        RECORDED,
    ),
    Fault(
        KEEPING,
        "        stay = [path for path, entry in found.items() if entry.version]\n"
        "        copied = [path for path, entry in found.items() if not entry.version]\n",
        "        stay, copied = [*found], []\n",
        "an object that is older than the versions of its bucket is deleted for ever",
        RECORDED,
    ),
    Fault(
        KEEPING,
        "astuple(entry) for entry in found.values()])",
        "astuple(entry) for entry in found.values() if entry.version])",
        "an undo that is run again deletes a file that it has put back",
        RECORDED,
    ),
    Fault(
        KEEPING,
        "versions.versions_now([path for path in paths if path not in noted])",
        "versions.versions_now(paths)",
        "a file of the operation comes back as one of the table",
        RECORDED,
    ),
    Fault(
        KEEPING,
        "        return [*noted.intersection(paths), *stay], copied, absent\n",
        "        return [*noted.intersection(paths), *stay, *absent], copied, absent\n",
        "a file that comes after the look is deleted without a record",
        RECORDED,
    ),
    Fault(
        KEEPING,
        "            if self.versions is not None:\n                self._note(path)\n",
        "",
        "what a file was replaced by comes back instead of it",
        RECORDED,
    ),
    Fault(
        KEEPING,
        "(_MADE, _VERSIONS, _KEPT) if versions",
        "(_VERSIONS, _KEPT, _MADE) if versions",
        "after a death a file that was replaced passes for a new one, and an undo deletes hoodie.properties",
        RECORDED,
    ),
    Fault(
        KEPT,
        "            table.storage.delete_folder(made_path(folder, META))\n",
        "            pass\n",
        "after a death an undo leaves rollback blocks in the table: it has no note of them any more",
        (f"{TEST}::test_the_notes_of_the_timeline_are_dropped_first",),
    ),
    Fault(
        KEPT,
        "made_files(table.storage, room.folder) - known.keys()",
        "made_files(table.storage, room.folder) - kept.keys()",
        "an undo that is run again deletes a file that it has put back",
        RECORDED,
    ),
    Fault(
        KEPT,
        "if path not in found or modified_ms < found[path].modified_ms:",
        "if True:",
        "the file of another process comes back instead of the one that was there before",
        RECORDED,
    ),
    Fault(
        KEPT,
        "    versions = found is not None and found.why_not is None\n",
        "    versions = found is not None\n",
        "files are deleted of which this account cannot read the old versions",
        (f"{TEST}::test_without_the_rights_files_are_copied",),
    ),
    Fault(
        KEPT,
        "    if not isinstance(table.storage, Versions):\n        raise Unsupported",
        "    if False:\n        raise Unsupported",
        "an operation that was begun in a bucket goes on elsewhere, and keeps nothing",
        (f"{TEST}::test_a_table_that_was_copied_out_of_its_bucket",),
    ),
    Fault(
        PLANNING,
        "    no_version_gone(session, room, contents)\n    to_be_back",
        "    to_be_back",
        "an undo begins that cannot end: the bucket has deleted an old version",
        (f"{TEST}::test_what_the_bucket_has_deleted_refuses_an_undo_before_it_begins",),
    ),
    Fault(
        EXECUTE,
        "    no_version_gone(session, room, contents)\n    return contents",
        "    return contents",
        "an undo begins that cannot end: the bucket has deleted an old version since its plan",
        (f"{TEST}::test_what_the_bucket_has_deleted_refuses_an_undo_before_it_begins",),
    ),
    Fault(
        DROP,
        "for path, status in contents.kept.items() if path not in contents.versions)",
        "for path, status in contents.kept.items())",
        "a drop says that it frees what the bucket keeps",
        (f"{TEST}::test_a_drop_deletes_the_record_alone",),
    ),
    Fault(
        S3,
        '_NO_VERSION = (None, "", "null")',
        '_NO_VERSION = (None, "")',
        "a version that the next write replaces counts as one that stays",
        VERSIONS,
    ),
    Fault(
        S3,
        "            if self._kept() is None:\n",
        "            if False:\n",
        "while versions are suspended a deletion counts as one that can be undone",
        VERSIONS,
    ),
    Fault(
        S3,
        '            self._head(path, VersionId=latest["VersionId"])\n',
        "",
        "it is found too late that old versions may not be read",
        VERSIONS,
    ),
    Fault(
        S3,
        '            if "Size" in latest or objects[0]["VersionId"] != version.version:\n',
        '            if "Size" in latest:\n',
        "readers see for a moment what was deleted by the operation",
        VERSIONS,
    ),
    Fault(
        S3,
        '            if "Size" in latest or objects[0]["VersionId"] != version.version:\n',
        "            if False:\n",
        "an undo deletes versions for ever",
        VERSIONS,
    ),
    Fault(
        S3,
        "            except PermissionError as error:\n",
        "            except TimeoutError as error:\n",
        "an undo ends in the middle where delete markers may not be removed",
        VERSIONS,
    ),
    Fault(
        S3,
        '        return [entry for entry in found if entry["Key"] == key]\n',
        "        return [*found]\n",
        "the versions of a neighbour count as those of the file",
        VERSIONS,
    ),
    Fault(
        S3,
        "        if copied is None or copied.size != version.size:\n            raise StorageFailed(",
        "        if False:\n            raise StorageFailed(",
        "a file that was not copied counts as brought back",
        VERSIONS,
    ),
    Fault(
        S3,
        "if kind in _ARCHIVED else None",
        "if False else None",
        "an undo brings back what no reader can read",
        VERSIONS,
    ),
    Fault(
        S3,
        "return min(found, default=None)",
        "return max(found, default=None)",
        "a plan promises more time than the bucket gives",
        VERSIONS,
    ),
)
