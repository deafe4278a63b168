"""The calls of WebHDFS, as name nodes (Hadoop 3.3.4) and HttpFS (3.3.6) answer them. No JVM, and no libhdfs.

Not fsspec's: it always overwrites a file, and does not look whether a rename was done (seen on 2026.9.0).
"""

import json
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import requests
from requests.adapters import HTTPAdapter

from hudictl.errors import Unsupported
from hudictl.storage.guard import Guard

_log = logging.getLogger(__name__)

_ROOT = "/webhdfs/v1"
_TIMEOUT_S = (10, 60)
"""For a connection, and for the next bytes of an answer."""
_PAUSES_S = (1, 2)
_FAILOVER_PAUSES_S = (0.5, 1, 2, 4, 8, 15)
"""Before the next tries: a failover to another name node may take half a minute."""
_DATA_NODES = 3
"""How many that do not answer are passed over, at most."""
_CONNECTIONS = 64
_MOST_BYTES = 2**31 - 1
"""Of an answer: HDFS lets a folder have a million entries of less than 1 KiB each; of a file no more is read."""
_ELSEWHERE = frozenset({"StandbyException", "RetriableException", "ObserverRetryOnActiveException"})
"""Exceptions of a name node that is not, or not yet, the active one: another one may be."""
UNAUTHENTICATED = "Unauthenticated"
"""The name of an answer that asks for a ticket: it is no exception of HDFS."""
_GET_TOKEN, _EXTEND_TOKEN = "GETDELEGATIONTOKEN", "RENEWDELEGATIONTOKEN"
_BY_TICKET = (_GET_TOKEN, _EXTEND_TOKEN)
"""The calls for which a token is not enough."""
_EXTEND_AGAIN_S = 60.0
EXPIRED = "InvalidToken"
"""The exception for a token that nobody has extended (for ``dfs.namenode.delegation.token.renew-interval``, a day), or
that has reached the greatest age (``max-lifetime``, a week)."""
_NAMELESS = {
    "is in safe mode": "SafeModeException",
    "lease recovery is in progress": "RecoveryInProgressException",
    "lease is currently owned by": "AlreadyBeingCreatedException",
    "SecretManager$InvalidToken": EXPIRED,
}
"""Of some exceptions HttpFS tells only the message, and of a token's name nodes, too."""


class RemoteError(Exception):
    """An exception of HDFS: ``name`` is its Java class, without the package."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class NoAnswer(Exception):
    """Neither a name node nor a data node has answered: a change may be made, or not."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks: a name that the cluster believes, or, with Kerberos, the owner of the ticket.

    ``verify`` is False, or the file with the certificates of those who sign for the cluster's.
    """

    user: str
    kerberos: bool = False
    verify: bool | str = True


class WebHdfs:
    """A client of one HDFS. Threads share it. It can be sent to other processes, with a token instead of the ticket."""

    def __init__(self, addresses: tuple[str, ...], identity: Identity) -> None:
        self.addresses = addresses
        self.guard = Guard()
        self.identity = identity
        self.user = identity.user
        self._active = addresses[0]
        self._token = ""
        self._has_ticket = identity.kerberos
        self._extend_at = 0.0
        self._session: requests.Session | None = None
        self._starting, self._renewing = threading.Lock(), threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        self._extend()
        return {**self.__dict__, "_has_ticket": False, "_session": None, "_starting": None, "_renewing": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _starting=threading.Lock(), _renewing=threading.Lock())

    def login(self) -> None:
        """With Kerberos, gets a token by the ticket, for all calls that follow. Raises as ``ask``."""
        if self.identity.kerberos:
            self._replace("")
            self.user = self.ask("GET", "GETHOMEDIRECTORY", "/")["Path"].rpartition("/")[2]

    def _replace(self, token: str) -> None:
        """Gets another token by the ticket, unless another thread has done it. Raises as ``ask``."""
        with self._renewing, _ticket(self._connected()):
            if self._token == token:
                self._token = self.ask("GET", _GET_TOKEN, "/")["Token"]["urlString"]
                # The next call extends it, which also tells until when it is valid.
                self._extend_at = 0.0

    def _extend(self) -> None:
        """Once half of its time has passed, extends the token, also that of the processes that were sent it.

        Where it cannot be, it is replaced when it has expired.
        """
        if not self._has_ticket or time.monotonic() < self._extend_at:
            return
        with self._renewing, _ticket(self._connected()):
            if time.monotonic() < self._extend_at:
                return
            try:
                until_ms: int = self.ask("PUT", _EXTEND_TOKEN, "/", token=self._token)["long"]
                self._extend_at = time.monotonic() + (until_ms / 1000 - time.time()) / 2
            except (RemoteError, NoAnswer) as error:
                _log.debug("the token was not extended: %s", error)
                self._extend_at = time.monotonic() + _EXTEND_AGAIN_S

    def ask(self, method: str, op: str, path: str, **parameters: object) -> Any:
        """A call that only a name node answers: its JSON, None if the answer is empty.

        Raises RemoteError, NoAnswer. If the first answer was lost, a change may have been made before.
        """
        _, body = self._call(method, op, path, None, parameters)
        try:
            return json.loads(body) if body else None
        except ValueError as error:
            raise NoAnswer(f"{self._active} does not answer as WebHDFS does: not in JSON") from error

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """A file's bytes. Raises RemoteError, NoAnswer."""
        parameters = {"offset": start, **({} if length is None else {"length": length})}
        for _ in range(2):
            url, body = self._call("GET", "OPEN", path, b"", parameters)
            if not url.startswith(tuple(f"{address}{_ROOT}/" for address in self.addresses)):
                return body
            # HttpFS, which answers with nothing, and no error, where no data node has the file.
            left: int = self.ask("GET", "GETFILESTATUS", path)["FileStatus"]["length"] - start
            if len(body) >= (left if length is None else min(left, length)):
                return body
        raise NoAnswer(f"HttpFS has sent {len(body)} bytes of {left} that follow byte {start}")

    def write(self, method: str, op: str, path: str, body: bytes, *, once: bool = False, **parameters: object) -> None:
        """Sends bytes to a data node; the file is closed then. Raises RemoteError, NoAnswer.

        If an answer is lost, the bytes are sent again, but not with ``once``.
        """
        self._call(method, op, path, body, parameters, 0 if once else _DATA_NODES)

    def _call(
        self,
        method: str,
        op: str,
        path: str,
        body: bytes | None,
        parameters: Mapping[str, object],
        data_nodes: int = _DATA_NODES,
    ) -> tuple[str, bytes]:
        """The URL that has answered, and the bytes. With a body, also an empty one, a data node answers, or HttpFS
        itself. As many ``data_nodes`` as do not answer are passed over."""
        if op in _BY_TICKET:
            return self._answered(method, op, path, body, parameters, data_nodes)
        self._extend()
        token = self._token
        try:
            return self._answered(method, op, path, body, parameters, data_nodes)
        except RemoteError as error:
            if error.name != EXPIRED or not self._has_ticket:
                raise
        self._replace(token)
        return self._answered(method, op, path, body, parameters, data_nodes)

    def _answered(
        self, method: str, op: str, path: str, body: bytes | None, parameters: Mapping[str, object], data_nodes: int
    ) -> tuple[str, bytes]:
        _log.debug("%s %s", op.lower(), path)
        several = len(self.addresses) > 1
        pauses = iter((*[0.0] * (len(self.addresses) - 1), *(_FAILOVER_PAUSES_S if several else _PAUSES_S)))
        passed_over: list[str] = []
        while True:
            address = self._active
            url = f"{address}{_ROOT}{quote(path)}?{self._query(op, parameters, passed_over)}"
            self._look_before(method, op)
            try:
                answer, received = self._answer(method, url)
                where = answer.headers.get("Location")
                if where is None:
                    return answer.url, received
                return where, self._transfer(method, where, body or b"", passed_over)
            except RemoteError as error:
                if error.name not in _ELSEWHERE:
                    raise
                failure = f"{address}: {error}"
            except requests.exceptions.SSLError as error:
                raise NoAnswer(f"{address}: {error}") from error
            except requests.RequestException as error:
                failure = f"{address}: {_words(error)}"
            except _DataNodeLost as error:
                if len(passed_over) <= data_nodes:
                    continue
                raise NoAnswer(str(error)) from error
            pause = next(pauses, None)
            if pause is None:
                raise NoAnswer(failure)
            _log.debug("%s: next try in %s s", failure, pause)
            self._active = self.addresses[(self.addresses.index(address) + 1) % len(self.addresses)]
            time.sleep(pause)

    def _look_before(self, method: str, op: str) -> None:
        """Each time before a change: a look itself reads, and may need another token."""
        if method != "GET" and op not in _BY_TICKET:
            self.guard()

    def _transfer(self, method: str, where: str, body: bytes, passed_over: list[str]) -> bytes:
        try:
            return self._answer(method, where, body)[1]
        except RemoteError:
            raise
        except requests.RequestException as error:
            host = urlsplit(where).netloc
            passed_over.append(host)
            raise _DataNodeLost(f"data node {host}: {_words(error)}") from error

    def _answer(self, method: str, url: str, body: bytes | None = None) -> tuple[requests.Response, bytes]:
        """One request. Raises RemoteError; RequestException: no answer, or a part of it; NoAnswer: a longer one."""
        headers = {} if body is None else {"Content-Type": "application/octet-stream"}
        session = self._connected()
        if session.auth is not None:
            answer = session.request(
                method, url, headers=headers, data=body, timeout=_TIMEOUT_S, allow_redirects=False, stream=True
            )
        else:
            # What a session adds takes half of the time: cookies, passwords in ~/.netrc, proxies.
            request = requests.PreparedRequest()
            request.prepare_method(method)
            request.url = url
            request.prepare_headers(headers)
            request.prepare_body(body if method != "GET" else None, None)
            answer = session.get_adapter(url).send(
                request, stream=True, timeout=_TIMEOUT_S, verify=self.identity.verify
            )
        received = _received(answer)
        if answer.status_code >= 400:
            raise _remote_error(answer, received)
        length = answer.headers.get("Content-Length")
        if length is not None and int(length) != len(received):
            # An older urllib3 does not notice that the connection broke.
            raise requests.ConnectionError(f"{len(received)} of {length} bytes were received")
        return answer, received

    def _query(self, op: str, parameters: Mapping[str, object], passed_over: list[str]) -> str:
        if self._token and op not in _BY_TICKET:
            who = {"delegation": self._token}
        else:
            who = {} if self.identity.kerberos else {"user.name": self.identity.user}
        away = {"excludedatanodes": ",".join(passed_over)} if passed_over else {}
        whole = {"op": op, **who, **parameters, **away}
        return "&".join(f"{key}={quote(str(value), safe='/,')}" for key, value in whole.items())

    def _connected(self) -> requests.Session:
        with self._starting:
            if self._session is None:
                self._session = requests.Session()
                self._session.verify = self.identity.verify
                for scheme in ("http://", "https://"):
                    self._session.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS))
            return self._session


class _DataNodeLost(Exception):
    pass


def _received(answer: requests.Response) -> bytes:
    """The bytes of an answer. Raises NoAnswer: there are too many; RequestException: the connection broke."""
    received = bytearray()
    with answer:
        for part in answer.iter_content(64 * 1024):
            received += part
            if len(received) > _MOST_BYTES:
                raise NoAnswer(f"{urlsplit(answer.url).netloc} sends more than {_MOST_BYTES:,} bytes")
    return bytes(received)


@contextmanager
def _ticket(session: requests.Session) -> Iterator[None]:
    """Requests that Kerberos' ticket cache vouches for. Raises Unsupported: the package is missing."""
    try:
        import requests_gssapi
    except ImportError as error:
        raise Unsupported(f"this HDFS asks for Kerberos, but {error}", hint="pip install 'hudictl[hdfs]'") from error
    session.auth = requests_gssapi.HTTPSPNEGOAuth(mutual_authentication=requests_gssapi.OPTIONAL)
    try:
        yield
    finally:
        session.auth = None


def _remote_error(answer: requests.Response, body: bytes) -> RemoteError:
    try:
        told = json.loads(body)["RemoteException"]
        name, message = str(told["exception"]), str(told.get("message") or told["exception"])
    except (ValueError, KeyError, TypeError):
        name = UNAUTHENTICATED if answer.status_code == 401 else "HTTP"
        return RemoteError(name, f"{answer.status_code} {answer.reason}")
    if name in ("RemoteException", "SecurityException"):
        name = next((known for words, known in _NAMELESS.items() if words in message), name)
    return RemoteError(name.rpartition("$")[2], message.strip().splitlines()[0])


def _words(error: Exception) -> str:
    """The innermost reason: requests and urllib3 wrap it in several layers."""
    while error.args and isinstance(error.args[0], Exception):
        error = error.args[0]
    reason = getattr(error, "reason", None)
    return str(reason if isinstance(reason, Exception) else error) or type(error).__name__
