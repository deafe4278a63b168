"""From options to an engine."""

from collections.abc import Callable, Mapping

from hudictl.engine.base import Engine
from hudictl.engine.cluster import refuse_cluster
from hudictl.engine.local import LocalEngine


def open_engine(
    name: str,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    *,
    look: Callable[[], object] = lambda: None,
    one_jvm: bool = False,
) -> Engine:
    """``spark`` or ``local`` (threads).

    Args:
        look: what every executor of a cluster must see as this host does, before work begins.
        one_jvm: refuse a master whose executors run elsewhere.

    Raises:
        Unsupported: such a master is named here; one that Spark is configured with is refused when Spark starts.
    """
    if name == "local":
        return LocalEngine()
    from hudictl.engine.spark import SparkEngine

    conf = dict(conf or {})
    if one_jvm:
        refuse_cluster(master or conf.get("spark.master") or "local")
    return SparkEngine(master, conf, look, one_jvm)
