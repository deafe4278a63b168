"""HDFS: the names of files, answers that are lost, and files that others have open."""

from tests.mutants.fault import Fault

HDFS = "storage/hdfs.py"
CLIENT = "storage/webhdfs.py"
PLACES = "storage/hadoop_conf.py"
TESTS = "storage/test_hdfs.py::"
OPEN = "ops/undo/test_open_logs.py::"

FAULTS = (
    Fault(
        HDFS,
        '            self._publish(temporary, target, body, "NONE")\n',
        '            self._publish(temporary, target, body, "OVERWRITE")\n',
        "of two claims made at once both succeed",
        (f"{TESTS}test_another_was_faster",),
    ),
    Fault(
        HDFS,
        "            renamed = self._found(temporary) is None and self._is(target, body)\n",
        "            renamed = self._is(target, body)\n",
        "another's file with the same bytes counts as created here",
        (f"{TESTS}test_another_was_faster",),
    ),
    Fault(
        HDFS,
        "            renamed = self._found(temporary) is None and self._is(target, body)\n",
        "            renamed = self._found(temporary) is None\n",
        "another's file counts as created here, where the answer was lost",
        (f"{TESTS}test_another_replaces_the_file_before_the_look",),
    ),
    Fault(
        HDFS,
        (
            "            if self._found(target) is not None:\n                raise FileExistsError(path)\n"
            "            temporary = self._temporary(body,"
        ),
        "            temporary = self._temporary(body,",
        "HttpFS puts a new file into a folder of its name",
        (f"{TESTS}test_a_gateway_creates_exclusively",),
    ),
    Fault(
        HDFS,
        "            if self._found(new) is not None:\n",
        "            if False:\n",
        "HttpFS moves the metadata table into an older one",
        (f"{TESTS}test_a_gateway_moves_nothing_into_a_folder",),
    ),
    Fault(
        HDFS,
        "            if self._found(old) is None and self._found(new) is not None:\n                return True\n",
        "",
        "a metadata table that was moved away counts as never there",
        (f"{TESTS}test_the_answer_to_a_done_move_is_lost",),
    ),
    Fault(
        HDFS,
        '                self._renamed(old, target, "NONE")\n            raise\n',
        "                pass\n            raise\n",
        "a file is gone that HttpFS could not replace",
        (f"{TESTS}test_a_gateway_that_fails_in_the_middle_of_a_replacement",),
    ),
    Fault(
        HDFS,
        '            if found["length"] != start:\n',
        "            if False:\n",
        "a block is appended behind another program's bytes",
        (f"{TESTS}test_it_appends_to_a_file_of_a_known_size",),
    ),
    Fault(
        HDFS,
        '"APPEND", target, body, once=True)\n',
        '"APPEND", target, body)\n',
        "a block is appended twice, where the answer was lost",
        (f"{TESTS}test_the_answer_to_an_append_is_lost",),
    ),
    Fault(
        HDFS,
        '                    if error.name != "RecoveryInProgressException":\n                        raise\n',
        "                    pass\n",
        "a log counts as closed that a living writer has open",
        (f"{TESTS}test_a_file_that_a_living_writer_has_open",),
    ),
    Fault(
        HDFS,
        "        permission = f\"{int(like['permission'], 8) & 0o666:o}\"\n",
        '        permission = "600"\n',
        "the table's writers cannot read what hudictl writes",
        (f"{TESTS}test_new_folders_have_the_rights_of_those_above",),
    ),
    Fault(
        HDFS,
        "failure = str(error)\n            outcomes.append(DeleteOutcome(path, ",
        "str(error)\n            outcomes.append(DeleteOutcome(path, ",
        "a deletion of many files takes hours to fail",
        (f"{TESTS}test_deletions_while_nothing_answers",),
    ),
    Fault(
        CLIENT,
        "        if length is not None and int(length) != len(received):\n",
        "        if False:\n",
        "a part of a file counts as the file",
        (f"{TESTS}test_an_answer_that_was_cut",),
    ),
    Fault(
        CLIENT,
        "            if len(received) > _MOST_BYTES:\n",
        "            if False:\n",
        "a data node that does not end its answer fills the memory",
        (f"{TESTS}test_an_answer_that_is_too_long",),
    ),
    Fault(
        CLIENT,
        "            if len(body) >= (left if length is None else min(left, length)):\n",
        "            if True:\n",
        "a file counts as empty, because HttpFS finds no data node",
        (f"{TESTS}test_a_gateway_without_data_nodes",),
    ),
    Fault(
        CLIENT,
        "                if error.name not in _ELSEWHERE:\n",
        "                if True:\n",
        "a failover ends a restore in the middle",
        (f"{TESTS}test_a_failover_while_it_works",),
    ),
    Fault(
        PLACES,
        '    secure = scheme == "swebhdfs" or settings.get("dfs.http.policy") == "HTTPS_ONLY"\n',
        '    secure = scheme == "swebhdfs"\n',
        "a cluster that speaks only HTTPS is not reached",
        ("storage/test_hadoop_conf.py::test_addresses",),
    ),
    Fault(
        "ops/undo/execute.py",
        "    return closed\n",
        "    return tuple(slices)\n",
        "rows of a removed commit are in the tail of a log that nobody has read",
        (f"{OPEN}test_a_log_of_a_failed_write_grows_when_it_is_closed",),
    ),
    Fault(
        "ops/undo/execute.py",
        "    if counted and closed != tuple(slices):\n",
        "    if False:\n",
        "a restore that cannot be verified begins, beside a log that has grown",
        (f"{OPEN}test_a_log_of_a_kept_slice_grows_when_it_is_closed",),
    ),
    Fault(
        "ops/restore/execute.py",
        (
            "    plan = replace(plan, undo=replace(undo, marked="
            "end_open_writes(session, held, undo.marked, counted=True)))\n"
        ),
        "",
        "a restore goes on beside a writer that has its logs open",
        (f"{OPEN}test_a_living_writer_stops_it",),
    ),
    Fault(
        "ops/rollback/execute.py",
        (
            "    marked = end_open_writes(session, held, plan.undo.marked, counted=plan.completed)\n"
            "    return replace(plan, undo=replace(plan.undo, marked=marked))\n"
        ),
        "    return plan\n",
        "a rollback goes on beside a writer that has its logs open",
        (f"{OPEN}test_a_living_writer_stops_it",),
    ),
    Fault(
        "table/logs/writer.py",
        "    except (Unreadable, Unsupported):\n        return False\n    return storage.append",
        "    except (Unreadable, Unsupported):\n        pass\n    return storage.append",
        "the last whole block of a log is corrupt after an append",
        ("table/logs/test_writer.py::test_it_appends_only_behind_a_whole_block",),
    ),
    Fault(
        "ops/undo/planning.py",
        '    return without_name_node(path) if on_hdfs else _SCHEME.sub("", path)\n',
        '    return _SCHEME.sub("", path)\n',
        "Hudi's own rollback on HDFS counts as that of another table",
        ("ops/undo/test_planning.py::test_a_path_in_hdfs_is_the_same_by_each_name_of_its_name_node",),
    ),
)
