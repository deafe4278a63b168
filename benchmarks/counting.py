"""hudictl, which says on stderr how much of its table's files it has read: ``python -m benchmarks.counting log …``."""

import json
import sys

from hudictl.cli.main import run
from hudictl.storage.local import LocalStorage


def main() -> int:
    """Runs the command; its last line on stderr is {"reads", "bytes"}."""
    really_read, counted = LocalStorage.read, {"reads": 0, "bytes": 0}

    def read(storage: LocalStorage, path: str, start: int = 0, length: int | None = None) -> bytes:
        body = really_read(storage, path, start, length)
        counted["reads"] += 1
        counted["bytes"] += len(body)
        return body

    LocalStorage.read = read  # type: ignore[method-assign]
    code = run(sys.argv[1:])
    print(json.dumps(counted), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
