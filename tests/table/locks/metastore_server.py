"""A Hive metastore in the test process, as far as locks go: the queue of 2.3.9 to 4.0, with a clock that tests turn."""

import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from thriftpy2.protocol import TBinaryProtocolFactory
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TBufferedTransportFactory, TSocket, TTransportException

from hudictl.table.locks.hive_metastore import idl


@dataclass
class Queue:
    """The requests by their number; the oldest one of a name is granted. ``lost`` are calls whose reply is lost."""

    timeout: str = "300s"
    ahead_ms: int = 0
    requests: dict[int, Any] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    numbers: int = 0

    def now_ms(self) -> int:
        return int(time.time() * 1000) + self.ahead_ms

    def lock(self, rqst: Any) -> Any:
        (component,) = rqst.component
        assert (component.type, component.level) == (idl().LockType.EXCLUSIVE, idl().LockLevel.TABLE)
        self.numbers += 1
        self.requests[self.numbers] = idl().ShowLocksResponseElement(
            lockid=self.numbers,
            dbname=component.dbname,
            tablename=component.tablename,
            state=idl().LockState.WAITING,
            type=component.type,
            lastheartbeat=self.now_ms(),
            user=rqst.user,
            hostname=rqst.hostname,
            agentInfo=rqst.agentInfo,
        )
        return self.answer("lock", self.asked(self.numbers))

    def check_lock(self, rqst: Any) -> Any:
        return self.answer("check_lock", self.asked(rqst.lockid))

    def heartbeat(self, ids: Any) -> None:
        self.asked(ids.lockid)

    def unlock(self, rqst: Any) -> None:
        if rqst.lockid not in self.requests:
            raise idl().NoSuchLockException(message=f"No such lock {rqst.lockid}")
        del self.requests[rqst.lockid]

    def show_locks(self, rqst: Any) -> Any:
        name = (rqst.dbname, rqst.tablename)
        found = [entry for entry in self.requests.values() if (entry.dbname, entry.tablename) == name]
        return idl().ShowLocksResponse(locks=found)

    def get_config_value(self, name: str, defaultValue: str) -> str:
        return {"hive.txn.timeout": self.timeout}.get(name, defaultValue)

    def asked(self, lockid: int) -> Any:
        """A request after it was asked for: renewed, and granted if it is the oldest one."""
        entry = self.requests.get(lockid)
        if entry is None:
            raise idl().NoSuchLockException(message=f"No such lock {lockid}")
        entry.lastheartbeat = self.now_ms()
        older = (other for other in self.requests.values() if other.lockid < lockid and other.dbname == entry.dbname)
        if entry.state == idl().LockState.WAITING and not any(other.tablename == entry.tablename for other in older):
            entry.state, entry.acquiredat = idl().LockState.ACQUIRED, self.now_ms()
        return idl().LockResponse(lockid=lockid, state=entry.state)

    def answer(self, call: str, value: Any) -> Any:
        if call in self.lost:
            raise ConnectionError("the reply is lost")
        return value


@contextmanager
def serving(queue: Queue) -> Iterator[str]:
    """Its URI."""
    processor = TProcessor(idl().ThriftHiveMetastore, queue)

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            transport = TBufferedTransportFactory().get_transport(TSocket(sock=self.request))
            protocol = TBinaryProtocolFactory().get_protocol(transport)
            with suppress(TTransportException, ConnectionError):
                while True:
                    processor.process(protocol, protocol)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"thrift://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
