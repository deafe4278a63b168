"""From options to an engine."""

from collections.abc import Mapping

from hudictl.engine.base import Engine
from hudictl.engine.local import LocalEngine


def open_engine(
    name: str, master: str | None = None, conf: Mapping[str, str] | None = None, *, this_host_only: bool = False
) -> Engine:
    """``spark`` or ``local`` (threads). ``this_host_only``: refuse a master whose executors run elsewhere."""
    if name == "local":
        return LocalEngine()
    from hudictl.engine.spark import SparkEngine

    return SparkEngine(master, dict(conf or {}), this_host_only)
