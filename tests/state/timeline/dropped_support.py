"""What the tests of dropped share with others."""

import json

from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import time_plus_ms
from tests.helpers import Copy


def groups(copy: Copy, partition: str) -> list[str]:
    files = (parse_data_file(path.name) for path in (copy.path / partition).iterdir() if path.name[0].isalnum())
    return sorted({file.file_id for file in files if file is not None})


def replaced(copy: Copy, partition: str, ids: list[str], operation: str = "DELETE_PARTITION") -> str:
    """A completed commit that replaces file groups."""
    time = time_plus_ms(copy.commits[-1], 1000)
    end = "" if copy.version == "v6" else f"_{time_plus_ms(time, 500)}"
    body = {
        "partitionToWriteStats": {},
        "partitionToReplaceFileIds": {partition: ids},
        "operationType": operation,
        "compacted": False,
        "extraMetadata": {},
    }
    for name, content in ((".replacecommit.requested", b""), (".replacecommit.inflight", b"")):
        copy.write(f"{time}{name}", content)
    copy.write(f"{time}{end}.replacecommit", json.dumps(body).encode())
    return time
