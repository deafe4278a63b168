"""An S3 (moto's) that is bad while a file says how. Hosts have moto, but not these tests: they run this file's text.

``refuse``: 503. ``deaf``: the work is done, and nobody is told. ``late SECONDS``: the answer comes then; with an
address after it only to deletions from there. ``slow SECONDS``: deletions begin then.
"""

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

MANNER = Path("/tmp/manner")
REFUSED = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"

application = DomainDispatcherApplication(create_backend_app)
one_at_a_time = threading.Lock()


def answer(environment: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    manner, seconds, address = [*(MANNER.read_text() if MANNER.exists() else "").split(), "", "", ""][:3]
    deletes = environment["REQUEST_METHOD"] == "DELETE" or environment["QUERY_STRING"].startswith("delete")
    if deletes:
        print(environment["REMOTE_ADDR"], "deletes", flush=True)
    if manner == "refuse":
        start("503 Slow Down", [("Content-Type", "application/xml"), ("Content-Length", str(len(REFUSED)))])
        return [REFUSED]
    if manner == "slow" and deletes:
        time.sleep(float(seconds))
    # S3 decides between two conditional puts of a key; moto alone would let both look before either puts.
    with one_at_a_time:
        done = list(application(environment, start))
    if manner == "late" and (not address or (deletes and address == environment["REMOTE_ADDR"])):
        time.sleep(float(seconds))
    if manner == "deaf":
        environment["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    return done


if __name__ == "__main__":
    run_simple(sys.argv[1], int(sys.argv[2]), answer, threaded=True)
