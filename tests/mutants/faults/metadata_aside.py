"""A metadata table that is set aside, put back, or deleted, with another one in its place at each moment."""

from tests.mutants.fault import Fault

ASIDE = "table/metadata/aside.py"
TEST = "table/metadata/test_aside.py"

FAULTS = (
    Fault(
        ASIDE,
        '    update_properties(table.storage, dict.fromkeys(PARTITION_KEYS, ""))\n',
        "",
        "readers look for files in a metadata table that is not in its place",
    ),
    Fault(
        ASIDE,
        (
            '    update_properties(table.storage, dict.fromkeys(PARTITION_KEYS, ""))\n'
            "    if place is _Place.IN_USE and not table.storage.move(METADATA_TABLE, aside.folder):\n"
        ),
        (
            "    moved = place is _Place.IN_USE and table.storage.move(METADATA_TABLE, aside.folder)\n"
            '    update_properties(table.storage, dict.fromkeys(PARTITION_KEYS, ""))\n'
            "    if place is _Place.IN_USE and not moved:\n"
        ),
        "the folder of the metadata table is moved away while readers use it",
        (f"{TEST}::test_readers_stop_using_it_before_it_is_touched",),
    ),
    Fault(
        ASIDE,
        (
            "        table.storage.replace(aside.record, json.dumps(files).encode())\n"
            "        # The backup first: readers use it if the properties are missing.\n"
            "        delete_all(table.storage, (METADATA_PROPERTIES_BACKUP, METADATA_PROPERTIES))\n"
        ),
        (
            "        delete_all(table.storage, (METADATA_PROPERTIES_BACKUP, METADATA_PROPERTIES))\n"
            "        table.storage.replace(aside.record, json.dumps(files).encode())\n"
        ),
        "after a death the metadata table has neither properties nor a record, and is lost",
        (f"{TEST}::test_where_it_cannot_be_moved_its_files_are_recorded_before_its_properties_go",),
    ),
    Fault(
        ASIDE,
        "        delete_all(table.storage, (METADATA_PROPERTIES_BACKUP, METADATA_PROPERTIES))\n",
        "        delete_all(table.storage, (METADATA_PROPERTIES,))\n",
        "readers find the backup of its properties, and use the metadata table that is set aside",
        (f"{TEST}::test_its_properties_never_stand_beside_their_backup_alone",),
    ),
    Fault(
        ASIDE,
        "        delete_all(table.storage, (METADATA_PROPERTIES_BACKUP, METADATA_PROPERTIES))\n",
        "        delete_all(table.storage, (METADATA_PROPERTIES, METADATA_PROPERTIES_BACKUP))\n",
        "after a death the backup of the properties is still there, and no rerun deletes it",
        (f"{TEST}::test_its_properties_never_stand_beside_their_backup_alone",),
    ),
    Fault(
        ASIDE,
        "    if place is _Place.MOVED:\n        _delete_other(table, aside)\n",
        "",
        "another metadata table lists the files that are deleted next",
        (f"{TEST}::test_another_one_is_deleted_where_the_first_is_set_aside_again",),
    ),
    Fault(
        ASIDE,
        "    return place is not _Place.LOST\n",
        "    return True\n",
        "another process's metadata table is rolled back in the place of the one that is lost",
        (f"{TEST}::test_one_that_another_process_has_made_since_is_not_set_aside",),
    ),
    Fault(
        ASIDE,
        "(place is _Place.MOVED and not table.storage.has_folder(METADATA_TABLE))\n",
        "(place is _Place.MOVED)\n",
        "a writer's new metadata table is not seen beside the one that is set aside",
        (f"{TEST}::test_another_one_that_comes_is_seen",),
    ),
    Fault(
        ASIDE,
        "    return _place(table, aside) in (_Place.MOVED, _Place.LOST)\n",
        "    return _place(table, aside) is _Place.MOVED\n",
        "a metadata table that a writer begins on an object store is taken from it",
        (f"{TEST}::test_another_one_that_comes_is_seen",),
    ),
    Fault(
        ASIDE,
        " or table.storage.stat(METADATA_PROPERTIES) is not None:\n",
        ":\n",
        "a complete metadata table counts as one that is being built, and blocks the restore",
        (f"{TEST}::test_another_one_that_comes_is_seen",),
    ),
    Fault(
        ASIDE,
        "    if lists_partitions(table):\n        return True\n",
        "",
        "hoodie.properties lists partitions of a metadata table that is not there, and nothing notices it",
        (f"{TEST}::test_partitions_that_are_listed_again_are_seen",),
    ),
    Fault(
        ASIDE,
        "    return place in (_Place.MOVED, _Place.LOST) and table.storage.has_folder(METADATA_TABLE)\n",
        "    return place is _Place.MOVED and table.storage.has_folder(METADATA_TABLE)\n",
        "a writer's new metadata table on an object store is not noticed",
        (f"{TEST}::test_another_one_that_comes_is_seen",),
    ),
    Fault(
        ASIDE,
        "    folder = aside.folder if table.storage.has_folder(aside.folder) else METADATA_TABLE\n",
        "    folder = METADATA_TABLE\n",
        "the metadata table of another writer is rolled back in the place of the one that is set aside",
        (f"{TEST}::test_it_is_opened_where_it_is_with_its_own_properties",),
    ),
    Fault(
        ASIDE,
        "            table.storage.create(METADATA_PROPERTIES, ",
        "            table.storage.replace(METADATA_PROPERTIES, ",
        "the properties of another writer's metadata table are replaced at the last moment",
        (f"{TEST}::test_another_one_that_is_made_at_the_last_moment_stays",),
    ),
    Fault(
        ASIDE,
        "        delete_all(table.storage, (aside.record,))\n        return True\n",
        "        return True\n",
        "a metadata table in use is still recorded as set aside",
        (f"{TEST}::test_set_aside_and_put_back",),
    ),
    Fault(
        ASIDE,
        (
            "        try:\n"
            '            table.storage.create(METADATA_PROPERTIES, aside.properties.encode("latin-1"))\n'
            "        except FileExistsError:\n"
            "            return False\n"
            "        delete_all(table.storage, (aside.record,))\n"
        ),
        (
            "        delete_all(table.storage, (aside.record,))\n"
            "        try:\n"
            '            table.storage.create(METADATA_PROPERTIES, aside.properties.encode("latin-1"))\n'
            "        except FileExistsError:\n"
            "            return False\n"
        ),
        "a death while it is put back on an object store loses the metadata table",
        (f"{TEST}::test_a_death_while_it_is_put_back_is_made_good",),
    ),
    Fault(
        ASIDE,
        "    return place is _Place.IN_USE\n",
        "    return place is not _Place.LOST\n",
        "another writer's metadata table is listed as the one that was set aside",
        (f"{TEST}::test_nothing_is_put_in_the_place_of_another_one",),
    ),
    Fault(
        ASIDE,
        "        _delete_moved(table, aside.folder, aside.other)\n",
        "        table.storage.delete_folder(aside.folder)\n",
        "after a death half of a metadata table counts as the whole, and is put back",
        (f"{TEST}::test_one_that_is_half_deleted_is_lost",),
    ),
    Fault(
        ASIDE,
        "    if table.storage.has_folder(aside.other):\n        table.storage.delete_folder(aside.other)\n",
        "",
        "what a dead process was deleting is left for ever",
        (f"{TEST}::test_one_that_is_half_deleted_is_lost",),
    ),
    Fault(
        ASIDE,
        "        alone = table.storage.stat(METADATA_PROPERTIES) is None and not _has_strangers(table, aside)\n",
        "        alone = table.storage.stat(METADATA_PROPERTIES) is None\n",
        "the beginning of another writer's metadata table is deleted",
        (f"{TEST}::test_the_beginning_of_another_one_is_not_deleted_with_it",),
    ),
    Fault(
        ASIDE,
        "            retire_metadata_table(table, aside.time)\n        forget_place(table, aside)\n",
        "            pass\n        forget_place(table, aside)\n",
        "the files of a metadata table that was given up stay in its place",
        (f"{TEST}::test_what_is_set_aside_is_deleted_and_nothing_else",),
    ),
    Fault(
        ASIDE,
        (
            "        if alone:\n"
            "            retire_metadata_table(table, aside.time)\n"
            "        forget_place(table, aside)\n"
            "        if alone:\n"
        ),
        (
            "        forget_place(table, aside)\n"
            "        if alone:\n"
            "            retire_metadata_table(table, aside.time)\n"
        ),
        "after a death the files of a metadata table that was given up stay in its place for ever",
        (f"{TEST}::test_what_a_dead_process_leaves_of_it_in_its_place_is_the_operations",),
    ),
    Fault(
        ASIDE,
        "        if alone:\n            delete_retired(table, aside.time)\n",
        "",
        "a metadata table that was given up is not deleted",
        (f"{TEST}::test_what_is_set_aside_is_deleted_and_nothing_else",),
    ),
    Fault(
        ASIDE,
        " is not None and not is_retired_in_place(table, aside.time)\n",
        " is not None\n",
        "a metadata table that is half deleted on an object store counts as the whole, and is put back",
        (f"{TEST}::test_one_that_is_half_deleted_is_lost",),
    ),
    Fault(
        ASIDE,
        "        return _Place.IN_PLACE if kept and not _has_strangers(table, aside) else _Place.LOST\n",
        "        return _Place.IN_PLACE if kept else _Place.LOST\n",
        "a metadata table with files of two writers is put back on an object store",
        (f"{TEST}::test_another_one_that_comes_is_seen",),
    ),
    Fault(
        ASIDE,
        'body.decode("latin-1") == aside.properties else',
        "body else",
        "another writer's metadata table counts as the one that was planned for",
        (f"{TEST}::test_one_that_another_process_has_made_since_is_not_set_aside",),
    ),
    Fault(
        ASIDE,
        "        recorded.get(path) != seen and not",
        "        path not in recorded and not",
        "a file that another writer has changed is taken for the metadata table's own",
        (f"{TEST}::test_a_file_of_it_that_has_changed_is_a_strangers",),
    ),
    Fault(
        ASIDE,
        '    return aside.sync in path or path.endswith(f"_{WRITE_TOKEN}")\n',
        '    return path.endswith(f"_{WRITE_TOKEN}")\n',
        "its own delta commit makes the metadata table count as lost",
        (f"{TEST}::test_hudictls_own_delta_commit_is_no_strangers",),
    ),
    Fault(
        ASIDE,
        '    return aside.sync in path or path.endswith(f"_{WRITE_TOKEN}")\n',
        "    return aside.sync in path\n",
        "below version 8 its own log makes the metadata table count as lost",
        (f"{TEST}::test_hudictls_own_delta_commit_is_no_strangers",),
    ),
    Fault(
        ASIDE,
        "    _delete_moved(table, METADATA_TABLE, aside.other)\n",
        "    table.storage.delete_folder(METADATA_TABLE)\n",
        "readers see another metadata table half deleted, and miss files",
        (f"{TEST}::test_a_death_while_another_one_is_deleted_is_made_good",),
    ),
    Fault(
        ASIDE,
        "    if table.storage.has_folder(to):\n        table.storage.delete_folder(to)\n",
        "",
        "what a dead process was deleting blocks every rerun",
        (f"{TEST}::test_a_death_while_another_one_is_deleted_is_made_good",),
    ),
    Fault(
        ASIDE,
        ('the rest is no metadata table."""\n    delete_all(table.storage, (aside.record,))\n'),
        'the rest is no metadata table."""\n',
        "a withdrawn restore lists a metadata table that was lost and deleted, and no query can be run",
        ("ops/metadata/test_keep_own_rollback.py::test_one_that_was_lost_and_deleted_does_not_come_back",),
    ),
)
