"""From options to an engine."""

import logging
import os
from collections.abc import Callable, Collection, Mapping

from hudictl.engine.base import Engine
from hudictl.engine.cluster import refuse_cluster, refuse_connect
from hudictl.engine.local import LocalEngine
from hudictl.engine.processes import Processes, cores


def open_engine(
    name: str,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    *,
    look: Callable[[], object] = lambda: None,
    one_jvm: bool = False,
    hidden: Collection[str] = (),
) -> Engine:
    """``spark`` or ``local`` (threads and processes of this host).

    Args:
        look: a function that must return the same on every executor of a cluster as on this host.
        one_jvm: refuse a master whose executors run elsewhere.
        hidden: the settings that are kept out of the JVM's command line, which every user of this host can read.

    Raises:
        Unsupported: such a master is specified here; a master from Spark's configuration is refused when Spark starts.
            Or it is Spark Connect.
    """
    if name == "local":
        # What another process does, --verbose would not tell.
        told = logging.getLogger("hudictl").isEnabledFor(logging.DEBUG)
        return LocalEngine(processes=None if told or cores() == 1 else Processes())
    from hudictl.engine.spark import SparkEngine

    conf = dict(conf or {})
    refuse_connect(master, conf, os.environ)
    if one_jvm:
        refuse_cluster(master or conf.get("spark.master") or "local")
    return SparkEngine(master, conf, look, one_jvm, frozenset(hidden))
