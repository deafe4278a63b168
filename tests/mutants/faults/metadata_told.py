"""What is said of a metadata table at the end, and to whom runs the command again."""

from tests.mutants.fault import Fault

GUARDS = "ops/guards/metadata.py"
RESTORE = "ops/restore/planning.py"
ROLLBACK = "ops/rollback/planning.py"
KEEP = "ops/metadata/keep.py"
REQUIRED = "ops/guards/test_required_indexes.py"
OF_REQUIRED_AGAIN = ("cli/test_required_index.py",)
OF_UNRECORDED = ("ops/undo/test_unrecorded.py",)

FAULTS = (
    # A metadata table that is set aside, and whose record is gone.
    Fault(
        RESTORE,
        "    return unrecorded(table, times)\n",
        "    return None\n",
        "a restore says `none` of a metadata table that it deletes, and passes over a required index",
        OF_UNRECORDED,
    ),
    Fault(
        "ops/metadata/treat.py",
        "return unrecorded(table, stored) or NO_METADATA_TABLE",
        "return NO_METADATA_TABLE",
        "a rollback says `none` of a metadata table that it deletes",
        OF_UNRECORDED,
    ),
    Fault(
        KEEP,
        "    delete_aside(table, kept.aside if kept is not None else keeping_none(time))\n",
        "    if kept is not None:\n        delete_aside(table, kept.aside)\n",
        "a metadata table whose record is gone stays for ever",
        OF_UNRECORDED,
    ),
    Fault(
        "table/metadata/aside.py",
        '{re.escape(_FILES)})?")\n',
        '{re.escape(_FILES)})")\n',
        "nothing shows a metadata table that is set aside, and whose record is gone",
        OF_UNRECORDED,
    ),
    Fault(
        "table/metadata/aside.py",
        "        drop_metadata_table(table, aside.time)\n    delete_all(table.storage, (aside.files,))\n",
        "        drop_metadata_table(table, aside.time)\n",
        "the list of a metadata table's files stays for ever",
        OF_UNRECORDED,
    ),
    Fault(
        "ops/restore/scope.py",
        "{*said.require_index, *options.require_index}",
        "said.require_index",
        "`--require-index` does nothing where a restore is resumed",
        OF_UNRECORDED,
    ),
    Fault(
        "ops/rollback/planning.py",
        "{*said.require_index, *options.require_index}",
        "said.require_index",
        "`--require-index` does nothing where a rollback is finished",
        OF_UNRECORDED,
    ),
    # What a command says when it is done, and again.
    Fault(
        GUARDS,
        "    in_use = {entry.partition for entry in plan.partitions if entry.in_use}\n",
        "    in_use = set(fates)\n",
        "`--require-index all` requires a folder that a dead build has left",
        (REQUIRED,),
    ),
    Fault(
        RESTORE,
        "plan.lost_in_use)",
        "plan.lost)",
        "a folder that a dead build has left stands in the way of a restore",
        (REQUIRED,),
    ),
    Fault(
        ROLLBACK,
        "metadata_table.lost_in_use)",
        "metadata_table.lost)",
        "a folder that a dead build has left stands in the way of a rollback",
        (REQUIRED,),
    ),
    Fault(
        "state/metadata/record.py",
        "            entry.partition in in_use,\n",
        "",
        "a rerun takes a folder that a dead build has left for an index",
        ("state/metadata/test_record.py",),
    ),
    Fault(
        KEEP,
        '    reasons |= dict.fromkeys(unknown, "it is no partition of the metadata table")\n',
        "",
        "a resume that requires an index which never was ends with 0",
        (REQUIRED,),
    ),
    Fault(
        KEEP,
        "            names.update(plan.options.require_index)\n",
        "",
        "a rerun without the option says that all is done",
        OF_REQUIRED_AGAIN,
    ),
    Fault(
        KEEP,
        "            names.update((*plan.indexes_kept, *plan.indexes_lost) if ALL in names else ())\n",
        "",
        "a rerun of `--require-index all` says that all is done",
        OF_REQUIRED_AGAIN,
    ),
    Fault(
        KEEP,
        "and not any(entry.time > time for entry in load_timeline(table).writes()):\n",
        "and True:\n",
        "an index that Hudi has been told not to build again is asked for years later",
        OF_REQUIRED_AGAIN,
    ),
    Fault(
        "cli/change.py",
        "    if found is not None:\n        raise found\n",
        "",
        "a restore that has lost a required index ends with 0",
        OF_REQUIRED_AGAIN,
    ),
    Fault(
        "ops/rollback/failed.py",
        "    except Findings as error:\n        return (replace(",
        "    except NotImplementedError as error:\n        return (replace(",
        "a rollback that is done is counted as failed",
        OF_REQUIRED_AGAIN,
    ),
    Fault(
        "ops/rollback/failed.py",
        "(result.metadata_table_given_up, _kept_text",
        "(_kept_text",
        "nobody is told why a rollback has deleted the metadata table",
        OF_REQUIRED_AGAIN,
    ),
)
