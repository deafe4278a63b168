"""The stores, and what runs on executors."""

from tests.mutants.fault import Fault

LOCAL = "storage/local.py"
WORKERS = "workers.py"
MARKERS = "table/markers.py"

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
)
