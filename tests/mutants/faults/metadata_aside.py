"""A metadata table that is set aside, put back, dropped or deleted, with another one in its place at each moment."""

from tests.mutants.fault import Fault

ASIDE = "table/metadata/aside.py"
TEST = "table/metadata/test_aside.py"
DROPPED = "table/metadata/test_dropped.py"

FAULTS = (
    Fault(
        ASIDE,
        "    _unlist(table)\n    if own is Own.IN_USE:\n",
        "    if own is Own.IN_USE:\n",
        "readers look for files in a metadata table that is not in its place",
        (f"{TEST}::test_set_aside_and_put_back",),
    ),
    Fault(
        ASIDE,
        ("    _unlist(table)\n    if own is Own.IN_USE:\n        _take_away(table, aside.folder, aside.files)\n"),
        ("    if own is Own.IN_USE:\n        _take_away(table, aside.folder, aside.files)\n    _unlist(table)\n"),
        "the folder of the metadata table is moved away while readers use it",
        (f"{TEST}::test_readers_stop_using_it_before_it_is_touched",),
    ),
    Fault(
        ASIDE,
        ("    table.storage.replace(record, json.dumps(seen).encode())\n    delete_all(table.storage, _PROPERTIES)\n"),
        ("    delete_all(table.storage, _PROPERTIES)\n    table.storage.replace(record, json.dumps(seen).encode())\n"),
        "after a death the metadata table has neither properties nor a record, and is lost",
        (f"{TEST}::test_where_it_cannot_be_moved_its_files_are_recorded_before_its_properties_go",),
    ),
    Fault(
        ASIDE,
        "    delete_all(table.storage, _PROPERTIES)\n",
        "    delete_all(table.storage, _PROPERTIES[1:])\n",
        "readers find the backup of its properties, and use the metadata table that is set aside",
        (f"{TEST}::test_its_properties_never_stand_beside_their_backup_alone",),
    ),
    Fault(
        ASIDE,
        "_PROPERTIES = (METADATA_PROPERTIES_BACKUP, METADATA_PROPERTIES)\n",
        "_PROPERTIES = (METADATA_PROPERTIES, METADATA_PROPERTIES_BACKUP)\n",
        "after a death the backup of the properties is still there, and no rerun deletes it",
        (f"{TEST}::test_its_properties_never_stand_beside_their_backup_alone",),
    ),
    Fault(
        ASIDE,
        (
            "    if own is Own.MOVED and _move(table, METADATA_TABLE, aside.dropped):\n"
            "        table.storage.delete_folder(aside.dropped)\n"
        ),
        "",
        "another metadata table lists the files that are deleted next",
        (f"{TEST}::test_another_one_is_deleted_where_the_first_is_set_aside_again",),
    ),
    Fault(
        ASIDE,
        (
            "    if own is Own.MOVED and _move(table, METADATA_TABLE, aside.dropped):\n"
            "        table.storage.delete_folder(aside.dropped)\n"
        ),
        "    if own is Own.MOVED:\n        table.storage.delete_folder(METADATA_TABLE)\n",
        "readers see another metadata table half deleted, and miss files",
        (f"{TEST}::test_a_death_while_another_one_is_deleted_is_made_good",),
    ),
    Fault(
        ASIDE,
        "    return own is not Own.LOST\n",
        "    return True\n",
        "another process's metadata table is rolled back in the place of the one that is lost",
        (f"{TEST}::test_one_that_another_process_has_made_since_is_not_set_aside",),
    ),
    Fault(
        ASIDE,
        " and self.other is Other.NONE\n",
        "\n",
        "a writer's new metadata table is not seen beside the one that is set aside",
        (f"{TEST}::test_another_one_that_comes_is_seen",),
    ),
    Fault(
        ASIDE,
        "    there = own in (Own.MOVED, Own.LOST) and table",
        "    there = own is Own.MOVED and table",
        "a metadata table that a writer begins on an object store is taken from it",
        (f"{TEST}::test_another_one_that_comes_is_seen",),
    ),
    Fault(
        ASIDE,
        "    there = own in (Own.MOVED, Own.LOST) and table",
        "    there = own is Own.LOST and table",
        "a metadata table that a writer begins is deleted beside the one that is set aside",
        (f"{TEST}::test_another_one_that_comes_is_seen",),
    ),
    Fault(
        ASIDE,
        "Other.BEGUN if table.storage.stat(METADATA_PROPERTIES) is None else Other.MADE\n",
        "Other.BEGUN\n",
        "a complete metadata table counts as one that is being built, and blocks the restore",
        (f"{TEST}::test_another_one_that_comes_is_seen",),
    ),
    Fault(
        ASIDE,
        "    elif listed_partitions(table):\n        other = Other.MADE\n",
        "",
        "hoodie.properties lists partitions of a metadata table that is not there, and nothing notices it",
        (f"{TEST}::test_partitions_that_are_listed_again_are_seen",),
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
        "        delete_all(table.storage, (aside.files,))\n        return True\n",
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
            "        delete_all(table.storage, (aside.files,))\n"
        ),
        (
            "        delete_all(table.storage, (aside.files,))\n"
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
        "    return own is Own.IN_USE\n",
        "    return own is not Own.LOST\n",
        "another writer's metadata table is listed as the one that was set aside",
        (f"{TEST}::test_nothing_is_put_in_the_place_of_another_one",),
    ),
    Fault(
        ASIDE,
        "        _move(table, aside.folder, aside.dropped)\n",
        "        table.storage.delete_folder(aside.folder)\n",
        "after a death half of a metadata table counts as the whole, and is put back",
        (f"{TEST}::test_one_that_is_half_deleted_is_lost",),
    ),
    Fault(
        ASIDE,
        "    if own is Own.STAYED:\n        drop_metadata_table(table, aside.time)\n",
        "",
        "the files of a metadata table that was given up stay in its place",
        (f"{TEST}::test_what_is_set_aside_is_deleted_and_nothing_else",),
    ),
    Fault(
        ASIDE,
        (
            "    if own is Own.STAYED:\n"
            "        drop_metadata_table(table, aside.time)\n"
            "    delete_all(table.storage, (aside.files,))\n"
        ),
        (
            "    delete_all(table.storage, (aside.files,))\n"
            "    if own is Own.STAYED:\n"
            "        drop_metadata_table(table, aside.time)\n"
        ),
        "after a death the files of a metadata table that was given up stay in its place for ever",
        (f"{TEST}::test_what_a_dead_process_leaves_of_it_in_its_place_is_the_operations",),
    ),
    Fault(
        ASIDE,
        "    delete_dropped(table, aside.time)\n",
        "",
        "a metadata table that was given up is not deleted",
        (f"{TEST}::test_what_is_set_aside_is_deleted_and_nothing_else",),
    ),
    Fault(
        ASIDE,
        "    delete_all(table.storage, (aside.dropped_files,))\n\n\ndef table_aside",
        "\n\ndef table_aside",
        "the record of a metadata table that a writer has built upon stays, and each rerun finds work to do",
        (
            "ops/metadata/test_drop.py",
            "ops/clean_up/test_orphans_left.py",
        ),
    ),
    Fault(
        ASIDE,
        "table.storage.stat(aside.files) is not None and table.storage.stat(aside.dropped_files) is None\n",
        "table.storage.stat(aside.files) is not None\n",
        "a metadata table that is half deleted on an object store counts as the whole, and is put back",
        (f"{TEST}::test_one_that_is_half_deleted_is_lost",),
    ),
    Fault(
        ASIDE,
        "        return Own.STAYED if stayed and not _has_strangers(table, aside) else Own.LOST\n",
        "        return Own.STAYED if stayed else Own.LOST\n",
        "a metadata table with files of two writers is put back on an object store",
        (f"{TEST}::test_another_one_that_comes_is_seen",),
    ),
    Fault(
        ASIDE,
        "    if not aside.properties:\n        return Own.LOST\n",
        "",
        "a metadata table whose record is gone stays in its place on an object store",
        ("ops/undo/test_unrecorded.py::test_a_restore_goes_on_without_it",),
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
        "    _delete_folder(table, to)\n    return table",
        "    return table",
        "what a dead process was deleting blocks every rerun",
        (f"{TEST}::test_a_death_while_another_one_is_deleted_is_made_good",),
    ),
    Fault(
        ASIDE,
        "    delete_all(table.storage, (aside.files,))\n    if look(",
        "    if look(",
        "a withdrawn restore lists a metadata table that was lost and deleted, and no query can be run",
        (f"{DROPPED}::test_one_to_keep_that_is_lost_stays_lost",),
    ),
    Fault(
        ASIDE,
        "        if match and match[1] == time:\n",
        "        if match:\n",
        "what another operation has dropped is deleted",
        (f"{DROPPED}::test_indexes_go_the_same_way",),
    ),
    Fault(
        ASIDE,
        "    if table.storage.has_folder(folder) or table.storage.behind_link(folder):\n",
        "    if table.storage.has_folder(folder):\n",
        "a link in the place of what is dropped stops each rerun",
        (f"{DROPPED}::test_a_link_in_the_place_of_what_is_dropped_is_removed",),
    ),
    Fault(
        ASIDE,
        '    delete_all(table.storage, [path for path in seen if path.startswith(f"{METADATA_TABLE}/{META}/")])\n',
        "",
        "Hudi 1.2.0 takes the instants of a dropped metadata table for its new one's, and its restore fails",
        (f"{DROPPED}::test_on_an_object_store_the_folder_is_no_table_any_more",),
    ),
    Fault(
        ASIDE,
        "if before.get(path) != seen]\n",
        "if path not in before]\n",
        "a file that a writer has written over a dropped one is deleted",
        (
            f"{DROPPED}::test_what_a_writer_puts_over_what_is_out_of_use_stays",
            f"{TEST}::test_a_file_of_it_that_has_changed_is_a_strangers",
        ),
    ),
    Fault(
        ASIDE,
        "    same = len(changed) == len(now) and all(",
        "    same = all(",
        "a metadata table in which a writer has replaced a file by one of the same size passes for a copy",
        (f"{DROPPED}::test_a_copy_with_other_times_is_no_writers",),
    ),
    Fault(
        ASIDE,
        "    copied = same and any(map(_TIMED.search, now))\n",
        "    copied = same\n",
        "a metadata table that a writer begins to build passes for the copy of the one before",
        (f"{DROPPED}::test_one_that_is_built_with_the_same_names_and_sizes_is_a_writers",),
    ),
    Fault(
        ASIDE,
        "    return bool(changed) and not copied\n",
        "    return bool(changed)\n",
        "a pending restore of a copied table can neither end nor be withdrawn",
        (f"{DROPPED}::test_a_copy_with_other_times_is_no_writers",),
    ),
)
