"""What the bytes are given as."""

from hudictl.storage import FileStatus


class Bytes:
    """A file in memory that is never asked for more than it has."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def read_at(self, offset: int, length: int) -> bytes:
        assert offset >= 0
        assert length >= 0
        return self.body[offset : offset + length]


class Everywhere:
    """A storage with these bytes as each file, of which the folders name one."""

    def __init__(self, body: bytes, name: str = "") -> None:
        self.body = body
        self.entry = FileStatus(name, False, len(body), 0)

    def list(self, folder: str) -> list[FileStatus]:
        return [self.entry]

    def stat(self, path: str) -> FileStatus:
        return self.entry

    def read(self, path: str, start: int, length: int) -> bytes:
        return self.body[start:][:length]
