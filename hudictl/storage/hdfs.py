"""HDFS, over WebHDFS or HttpFS.

A file that is written is visible before it is complete. So each file is written under a temporary name, and renamed:
one change of the name node, that happened or not.
"""

import getpass
import os
import posixpath
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from hudictl.errors import Conflict, OutcomeUnknown, StorageFailed, UsageError
from hudictl.storage.base import PIECE_BYTES, Credentials, DeleteOutcome, FileStatus, Storage, inside
from hudictl.storage.guard import Guard
from hudictl.storage.hadoop_conf import ADDRESS_OPTION, asks_kerberos, place_of, read_configuration
from hudictl.storage.webhdfs import EXPIRED, UNAUTHENTICATED, Identity, NoAnswer, RemoteError, WebHdfs

_OPTIONS = (ADDRESS_OPTION, "user", "kerberos", "verify")
_ABSENT = frozenset({"FileNotFoundException", "ParentNotDirectoryException"})
_OTHERS = frozenset({"AlreadyBeingCreatedException", "RecoveryInProgressException", "LeaseExpiredException"})
"""Another client has the file open, or had it until a minute ago."""
_AGAIN = "run the same command again"
_RECOVERY_PAUSES_S = (1, 2, 4, 8, 15)
"""For the data nodes to agree on the length of a file that its writer has left open."""

_HINTS = {
    "SafeModeException": f"when the name node has left safe mode, {_AGAIN}",
    EXPIRED: f"the token has expired: {_AGAIN}",
    UNAUTHENTICATED: "get a ticket with kinit; if Hadoop's settings do not say that there is Kerberos: "
    "--storage-option kerberos=true",
}


@dataclass(frozen=True)
class HdfsStorage(Storage):
    """A folder of an HDFS: ``root`` is its path there, ``top`` the URI of the file system, ``scratch`` the path of a
    folder for temporary files: after a crash they remain only there. It is ``ready`` once it was seen: nobody deletes
    it."""

    top: str
    root: str
    scratch: str
    client: WebHdfs = field(repr=False)
    ready: set[str] = field(default_factory=set, repr=False, compare=False)

    @staticmethod
    def open(uri: str, scratch: str, options: Mapping[str, str], _single_operator: bool) -> "HdfsStorage":
        """Raises UsageError: the URI or an option; StorageFailed: settings, or no ticket; Unsupported: no package."""
        unknown = sorted(set(options) - set(_OPTIONS))
        if unknown:
            raise UsageError(f"--storage-option {unknown[0]}: unknown on HDFS", hint=f"known: {', '.join(_OPTIONS)}")
        settings = read_configuration()
        place = place_of(uri, settings, options.get(ADDRESS_OPTION, ""))
        verify = options.get("verify", "true")
        identity = Identity(
            options.get("user") or os.environ.get("HADOOP_USER_NAME") or _this_user(),
            options.get("kerberos", settings.get("hadoop.security.authentication", "")) in ("kerberos", "true"),
            {"true": True, "false": False}.get(verify, verify),
        )
        client = WebHdfs(place.addresses, identity)
        with _errors("open", uri):
            client.login()
        return HdfsStorage(place.top, place.path, f"{place.path}/{scratch}", client)

    @staticmethod
    def credentials(options: Mapping[str, str]) -> Credentials:
        """The ticket, or a name. Raises ImportError; StorageFailed: Hadoop's settings cannot be read."""
        folder = os.environ.get("HADOOP_CONF_DIR", "")
        facts = (f"HADOOP_CONF_DIR {folder}" if folder else "HADOOP_CONF_DIR is not set",)
        if not asks_kerberos(options):
            user = options.get("user") or os.environ.get("HADOOP_USER_NAME")
            return Credentials(f"no Kerberos: the user's name{f' {user}' if user else ''}", facts)
        import gssapi
        from gssapi.raw.misc import GSSError

        try:
            found = gssapi.Credentials(usage="initiate")
            return Credentials(f"the ticket of {found.name}, valid for {int(found.lifetime) // 60} min", facts)
        except GSSError:
            return Credentials("", facts, "get a ticket with kinit")

    @property
    def guard(self) -> Guard:
        return self.client.guard

    @property
    def uri(self) -> str:
        return f"{self.top}{self.root}"

    def below(self, folder: str) -> "HdfsStorage":
        return replace(self, root=self.absolute(folder))

    def above(self) -> "HdfsStorage | None":
        return replace(self, root=self.root.rpartition("/")[0]) if self.root else None

    def absolute(self, path: str) -> str:
        # Without the name node: writers may call it by its host, by its name service, or not at all.
        return f"{self.root}/{inside(path)}" if path else self.root

    def list(self, folder: str) -> list[FileStatus]:
        with _errors("list", folder):
            found = self.client.ask("GET", "LISTSTATUS", self._path(folder))["FileStatuses"]["FileStatus"]
        if any(not entry["pathSuffix"] for entry in found):
            raise FileNotFoundError(f"{folder} is a file")
        return sorted(_of(entry["pathSuffix"], entry) for entry in found)

    def stat(self, path: str) -> FileStatus | None:
        with _errors("get the status of", path):
            found = self._found(self._path(path))
        return None if found is None or _is_folder(found) else _of(posixpath.basename(path), found)

    def has_folder(self, folder: str) -> bool:
        with _errors("get the status of", folder):
            found = self._found(self._path(folder))
        return found is not None and _is_folder(found)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        if length == 0:
            return b""
        with _errors("read", path):
            try:
                return self.client.read(self._path(path), start, length)
            except RemoteError:
                # A range behind the end is refused.
                found = self._found(self._path(path)) if start else None
                if found is not None and start >= found["length"]:
                    return b""
                raise

    def create(self, path: str, body: bytes) -> None:
        with _errors("create", path):
            target = self._path(path)
            if self._found(target) is not None:
                raise FileExistsError(path)
            temporary = self._temporary(body, self._made(posixpath.dirname(target)))
            self._publish(temporary, target, body, "NONE")

    def create_from(self, path: str, pieces: Iterator[bytes], size: int) -> None:
        if size <= PIECE_BYTES:
            self.create(path, b"".join(pieces))
            return
        with _errors("create", path):
            target = self._path(path)
            if self._found(target) is not None:
                raise FileExistsError(path)
            temporary = self._temporary(next(pieces), self._made(posixpath.dirname(target)))
            try:
                for piece in pieces:
                    self.client.write("POST", "APPEND", temporary, piece, once=True)
                if not self._renamed(temporary, target, "NONE"):
                    raise FileExistsError(path)
            except BaseException:
                self._drop(temporary)
                raise

    def append(self, path: str, start: int, body: bytes) -> bool:
        with _errors("append to", path):
            target = self._path(path)
            found = self._found(target)
            if found is None:
                raise FileNotFoundError(path)
            if found["length"] != start:
                raise Conflict(f"{path} has {found['length']} bytes, not {start}", hint=_AGAIN, path=path)
            try:
                self.client.write("POST", "APPEND", target, body, once=True)
            except RemoteError as error:
                if error.name in _OTHERS:
                    return False
                raise
            except NoAnswer as error:
                if self._is(target, body, start):
                    return True
                raise OutcomeUnknown(
                    f"it is not known whether {path} has got {len(body)} bytes more: {error}",
                    hint=f"when HDFS answers, {_AGAIN}",
                    path=path,
                ) from error
            return True

    def end_writing(self, path: str) -> None:
        target = self._path(path)
        with _errors("close", path):
            for pause in _RECOVERY_PAUSES_S:
                if not self._is_open(target):
                    return
                try:
                    # It appends nothing: only then a name node takes the lease from a program that is gone.
                    self.client.write("POST", "APPEND", target, b"", once=True)
                except RemoteError as error:
                    if error.name != "RecoveryInProgressException":
                        raise
                time.sleep(pause)
            if self._is_open(target):
                raise RemoteError("RecoveryInProgressException", "the name node does not end its recovery")

    def keeps_deleted(self) -> str | None:
        folder = self.root
        with _errors("list the snapshots of", ""):
            while True:
                names = self._snapshots(folder)
                if names:
                    return (
                        f"HDFS snapshots of {folder or '/'} keep deleted files, and their space: {len(names)}, the "
                        f"last by name {names[-1]}. Files can be copied from {folder}/.snapshot/{names[-1]}."
                    )
                if not folder:
                    return None
                folder = posixpath.dirname(folder).rstrip("/")

    def replace(self, path: str, body: bytes) -> None:
        with _errors("replace", path):
            target = self._path(path)
            found = self._found(target)
            if found is not None and _is_folder(found):
                # HttpFS would move the new file into it.
                raise StorageFailed(f"cannot replace {path}: it is a folder", path=path)
            temporary = self._temporary(body, found or self._made(posixpath.dirname(target)))
            self._publish(temporary, target, body, "OVERWRITE")

    def touch(self, path: str) -> None:
        self.set_time(path, int(time.time() * 1000))

    def set_time(self, path: str, modified_ms: int) -> None:
        with _errors("touch", path):
            self.client.ask("PUT", "SETTIMES", self._path(path), modificationtime=modified_ms, accesstime=-1)

    def delete(self, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        outcomes: list[DeleteOutcome] = []
        failure: str | None = None
        for path in paths:
            # Where nothing answers, each of the others would take as long to fail.
            reason = failure
            if failure is None:
                try:
                    self.client.ask("DELETE", "DELETE", self._path(path), recursive="false")
                except RemoteError as error:
                    reason = None if _is_absent(error) else str(error)
                except NoAnswer as error:
                    reason = failure = str(error)
            outcomes.append(DeleteOutcome(path, reason))
        return outcomes

    def move(self, source: str, target: str) -> bool:
        with _errors("move", source):
            old, new = self._path(source), self._path(target)
            if self._found(old) is None:
                return False
            if self._found(new) is not None:
                # HDFS would move it into a folder of this name.
                raise StorageFailed(f"cannot move {source}: {target} exists", path=source)
            failure: Exception | None = None
            try:
                if self._renamed(old, new, "NONE"):
                    return True
            except (RemoteError, NoAnswer) as error:
                failure = error
            # The reply may be that to a second try: then the first one has moved it.
            if self._found(old) is None and self._found(new) is not None:
                return True
            if failure is not None:
                raise failure
            return False

    def move_files(self, moves: Sequence[tuple[str, str]], *, over: bool = False) -> Sequence[DeleteOutcome]:
        outcomes: list[DeleteOutcome] = []
        failure: str | None = None
        for source, target in moves:
            reason = failure
            if failure is None:
                try:
                    reason = self._move_file(self._path(source), self._path(target), over=over)
                except RemoteError as error:
                    reason = None if _is_absent(error) else str(error)
                except NoAnswer as error:
                    reason = failure = str(error)
            outcomes.append(DeleteOutcome(source, reason))
        return outcomes

    def _move_file(self, old: str, new: str, *, over: bool) -> str | None:
        """Moves a file; returns why it is still there. Raises RemoteError, NoAnswer."""
        if self._found(old) is None:
            # HttpFS would take the file at the target away, and have none to put there.
            return None
        self._made(posixpath.dirname(new))
        if not over and self._found(new) is not None:
            self.client.ask("DELETE", "DELETE", old, recursive="false")
        elif not self._renamed(old, new, "OVERWRITE" if over else "NONE") and self._found(old) is not None:
            return "HDFS does not move it"
        return None

    def copy_file(self, source: str, target: str) -> None:
        with _errors("copy", source):
            found = self._found(self._path(source))
            if found is None:
                raise FileNotFoundError(source)
            if self._found(self._path(target)) is not None:
                return
            # It gets the time before its name: a rerun takes it for complete.
            temporary = self._temporary(self.read(source), found)
            times = {"modificationtime": found["modificationTime"], "accesstime": -1}
            self.client.ask("PUT", "SETTIMES", temporary, **times)
            self._made(posixpath.dirname(self._path(target)))
            if not self._renamed(temporary, self._path(target), "NONE"):
                self._drop(temporary)

    def delete_folder(self, folder: str) -> None:
        with _errors("delete", folder), suppress(FileNotFoundError):
            self.client.ask("DELETE", "DELETE", self._path(folder), recursive="true")

    def remove_empty(self, folder: str) -> None:
        with _errors("delete", folder), suppress(FileNotFoundError):
            try:
                self.client.ask("DELETE", "DELETE", self._path(folder), recursive="false")
            except RemoteError as error:
                if error.name != "PathIsNotEmptyDirectoryException":
                    raise

    def _snapshots(self, folder: str) -> Sequence[str]:
        try:
            found = self.client.ask("GET", "LISTSTATUS", f"{folder}/.snapshot")["FileStatuses"]["FileStatus"]
        except RemoteError:
            # No folder of snapshots, or one of another user.
            return []
        return sorted(entry["pathSuffix"] for entry in found)

    def _is_open(self, path: str) -> bool:
        try:
            blocks = self.client.ask("GET", "GET_BLOCK_LOCATIONS", path)["LocatedBlocks"]
            return bool(blocks["isUnderConstruction"])
        except RemoteError as error:
            if error.name != "QueryParamException":
                raise
        # HttpFS does not know that operation, but this one: it fails for an open file.
        try:
            self.client.ask("GET", "GETFILECHECKSUM", path)
        except RemoteError as error:
            if "under construction" in str(error):
                return True
            raise
        return False

    def _path(self, path: str) -> str:
        return self.absolute(path) or "/"

    def _found(self, path: str) -> "dict[str, Any] | None":
        try:
            found: dict[str, Any] = self.client.ask("GET", "GETFILESTATUS", path)["FileStatus"]
        except RemoteError as error:
            if _is_absent(error):
                return None
            raise
        return found

    def _made(self, folder: str) -> dict[str, Any]:
        """The status of a folder; a missing one is created, each with the access rights of the folder above."""
        found = self._found(folder or "/")
        if found is not None:
            return found
        like = self._made(posixpath.dirname(folder))
        self.client.ask("PUT", "MKDIRS", folder, permission=like["permission"])
        self._share(folder, like)
        return like

    def _temporary(self, body: bytes, like: Mapping[str, Any]) -> str:
        """A temporary file with the body; its access rights are those of another file, or of files in a folder."""
        if self.scratch not in self.ready:
            self._made(self.scratch)
            self.ready.add(self.scratch)
        path = f"{self.scratch}/{uuid.uuid4()}"
        # No other has this name: what is there is from a first try, of which the reply was lost.
        permission = f"{int(like['permission'], 8) & 0o666:o}"
        try:
            self.client.write("PUT", "CREATE", path, body, overwrite="true", permission=permission)
            self._share(path, like)
        except (RemoteError, NoAnswer):
            # Where there is no space, an empty file stays.
            self._drop(path)
            raise
        return path

    def _drop(self, temporary: str) -> None:
        with suppress(RemoteError, NoAnswer):
            self.client.ask("DELETE", "DELETE", temporary, recursive="false")

    def _share(self, path: str, like: Mapping[str, Any]) -> None:
        """Gives a new file or folder to the owner of another: where a superuser works, writers must not be locked
        out."""
        if like["owner"] == self.client.user:
            return
        try:
            self.client.ask("PUT", "SETOWNER", path, owner=like["owner"], group=like["group"])
        except RemoteError as error:
            if error.name != "AccessControlException":
                raise

    def _publish(self, temporary: str, target: str, body: bytes, option: str) -> None:
        """Gives a complete file its name.

        Raises FileExistsError, RemoteError, NoAnswer, OutcomeUnknown.
        """
        failure: Exception = FileExistsError(target)
        try:
            if self._renamed(temporary, target, option):
                return
        except (RemoteError, NoAnswer) as error:
            failure = error
        # The reply may be that to a second try: then the first one has renamed the file.
        try:
            renamed = self._found(temporary) is None and self._is(target, body)
            exists = self._found(target) is not None
        except NoAnswer as unseen:
            raise OutcomeUnknown(
                f"it is not known whether {target} was written: {failure}",
                hint="run the same command again when HDFS answers: it continues the operation",
                path=target,
            ) from unseen
        if renamed:
            return
        self._drop(temporary)
        raise FileExistsError(target) if exists and option == "NONE" else failure

    def _is(self, path: str, body: bytes, start: int = 0) -> bool:
        """Whether a body is all that a file has, from a byte on."""
        try:
            return self.client.read(path, start) == body
        except (RemoteError, NoAnswer):
            return False

    def _renamed(self, source: str, target: str, option: str) -> bool:
        answer = self.client.ask("PUT", "RENAME", source, destination=target, renameoptions=option)
        # Name nodes answer nothing, and throw; HttpFS does not know the option, and answers whether it was done.
        if answer is None or answer["boolean"]:
            return True
        if option != "OVERWRITE" or self._found(target) is None:
            return False
        # It overwrites nothing: for a moment there is no file. Hudi has a backup of its properties then.
        old = f"{self.scratch}/{uuid.uuid4()}"
        self._renamed(target, old, "NONE")
        try:
            replaced = self._renamed(source, target, "NONE")
        except (RemoteError, NoAnswer):
            with suppress(RemoteError, NoAnswer):
                self._renamed(old, target, "NONE")
            raise
        if not replaced:
            self._renamed(old, target, "NONE")
            return False
        self._drop(old)
        return True


def _this_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        # In a container, for a number that has no name.
        raise UsageError("the user who runs hudictl has no name", hint="--storage-option user=NAME") from error


def _of(name: str, found: Mapping[str, Any]) -> FileStatus:
    return FileStatus(name, _is_folder(found), found["length"], found["modificationTime"])


def _is_folder(found: Mapping[str, Any]) -> bool:
    return bool(found["type"] == "DIRECTORY")


def _is_absent(error: RemoteError) -> bool:
    # A file in the place of a folder: before Hadoop 3.3 a refused access.
    return error.name in _ABSENT or (error.name == "AccessControlException" and "is not a directory" in str(error))


@contextmanager
def _errors(verb: str, path: str) -> Iterator[None]:
    try:
        yield
    except RemoteError as error:
        if _is_absent(error):
            raise FileNotFoundError(path) from error
        what = f"cannot {verb} {path or '.'}: {error.name}: {error}"
        if error.name in _OTHERS:
            hint = f"wait until its writer has ended, or for a minute if it has died; then {_AGAIN}"
            raise Conflict(what, hint=hint, path=path) from error
        hint = _HINTS.get(error.name, f"fix the cause, then {_AGAIN}")
        raise StorageFailed(what, hint=hint, path=path) from error
    except NoAnswer as error:
        raise StorageFailed(
            f"cannot {verb} {path or '.'}: {error}",
            hint=f"check HADOOP_CONF_DIR, or --storage-option {ADDRESS_OPTION}=HOST:PORT; when HDFS answers, {_AGAIN}",
            path=path,
        ) from error
