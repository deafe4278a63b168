"""Locks by Hudi's own providers, in the judge's process."""

from functools import reduce
from typing import Any

from py4j.protocol import Py4JJavaError

HELD: dict[str, Any] = {}
"""Providers by the table's path, from ``lock`` to ``unlock``."""


def lock(jvm: Any, path: str, config: Any, storage_conf: Any, wait_ms: int) -> bool:
    """Takes the lock that a writer's configuration names; some providers say by an exception that another has it."""
    provider = reduce(getattr, config.getLockProviderClass().split("."), jvm)(
        jvm.org.apache.hudi.common.config.LockConfiguration(config.getProps()), storage_conf
    )
    HELD[path] = provider
    try:
        return bool(provider.tryLock(wait_ms, jvm.java.util.concurrent.TimeUnit.MILLISECONDS))
    except Py4JJavaError as error:
        if "FAILED_TO_ACQUIRE" in str(error):
            return False
        raise


def unlock(path: str, close_only: bool) -> None:
    """What a writer does at its end; one that has not got the lock only closes its provider."""
    provider = HELD.pop(path)
    if not close_only:
        provider.unlock()
    provider.close()
