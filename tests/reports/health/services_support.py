"""What the tests of services share with others."""

from hudictl.cli.main import run
from hudictl.formats.file_names import data_path
from hudictl.state.timeline.service_plans import service_files
from hudictl.table.timeline.active import load_timeline
from tests import records
from tests.helpers import Copy
from tests.state.orphans.find_support import LATER


def planned(copy: Copy, time: str) -> list[str]:
    """The paths that the plan of a pending table service names."""
    instant = load_timeline(copy.table).at(time)
    assert instant is not None
    return sorted(data_path(partition, name) for partition, name in service_files(copy.table, instant))


def follow(copy: Copy, command: str) -> int:
    """Runs a command that a finding names; returns its exit code."""
    return run([*command.split()[1:], "--table", str(copy.path), "--engine", "local", "--yes"])


def scheduled(copy: Copy, service: str) -> tuple[str, list[str]]:
    """A service that is only requested: its name on the timeline, and the files of its plan."""
    files = [file for file in copy.table.storage.list("part-1") if file.name.endswith(".parquet")]
    name = max(file.name for file in files)
    entry = {"partitionPath": "part-1", "fileId": name.partition("_")[0]}
    if service == "clustering":
        body = records.clustering_plan([entry | {"dataFilePath": f"/lake/part-1/{name}"}])
        service = "replacecommit" if copy.version == "v6" else service
    else:
        body = records.compaction_plan([entry | {"dataFilePath": name}])
    copy.write(f"{LATER}.{service}.requested", body)
    return f"{LATER} {service} REQUESTED", planned(copy, LATER)
