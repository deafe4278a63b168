"""What the tests of engine share with others."""

import os
import signal
from pathlib import Path


def kill_executor() -> None:
    """This process is a child of PySpark's daemon, and that of the executor."""
    executor = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(executor, signal.SIGKILL)
    signal.pause()
