"""HDFS: lost answers, name nodes that are not active, data nodes that are gone, and what is told of a refusal."""

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from requests.adapters import HTTPAdapter

from hudictl.errors import Conflict, HudictlError, OutcomeUnknown, StorageFailed, UsageError
from hudictl.storage import webhdfs as module
from hudictl.storage.hdfs import HdfsStorage
from hudictl.storage.open import open_storage
from tests.storage import name_node
from tests.storage.name_node import LOST, Answer, NameNode, Request, refusal, serving

STANDBY = refusal(name_node.STANDBY, "Operation category READ is not supported in state standby")


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSES_S", (0, 0))
    monkeypatch.setattr(module, "_FAILOVER_PAUSES_S", (0, 0))


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NameNode]:
    (tmp_path / "t" / ".tmp").mkdir(parents=True)
    with serving(NameNode(tmp_path)) as running:
        yield running


def at(*addresses: str, **options: str) -> HdfsStorage:
    store = open_storage("hdfs://lake/t", ".tmp", {"http_address": ",".join(addresses), "user": "hudi"} | options)
    assert isinstance(store, HdfsStorage)
    return store


def once(answer: Answer, op: str, *more: str) -> Callable[[Request], Answer | None]:
    """The answer to the first request of each kind."""
    left = [op, *more]

    def answered(request: Request) -> Answer | None:
        if request.op not in left:
            return None
        left.remove(request.op)
        return answer

    return answered


def always(answer: Answer, *ops: str) -> Callable[[Request], Answer | None]:
    return lambda request: answer if request.op in ops else None


def standby() -> NameNode:
    return NameNode(Path("/nowhere"), before=lambda _: STANDBY)


def test_the_uri_is_kept_and_paths_have_no_name_node(node: NameNode) -> None:
    """Writers may call it by another name: a plan that has this one could not be executed by them."""
    store = at(node.address)
    assert (store.uri, store.absolute("p/f")) == ("hdfs://lake/t", "/t/p/f")


@pytest.mark.parametrize("first", ["nothing listens", "not active"])
def test_the_next_name_node(node: NameNode, first: str) -> None:
    """Where the first one is gone, or is not the active one; and the next call begins with it."""
    with serving(standby()) as other:
        store = at("http://127.0.0.1:9" if first == "nothing listens" else other.address, node.address)
        store.create("f", b"body")
        assert store.read("f") == b"body"
    assert len(other.requests) <= 1


def test_a_failover_while_it_works(node: NameNode) -> None:
    """The active name node becomes the standby: it is asked again when the other one is not active either."""
    node.before = once(STANDBY, "RENAME")
    with serving(standby()) as other:
        at(other.address, node.address).create("f", b"body")
    assert node.files == {"/t/f": b"body"}


def test_no_name_node_is_active() -> None:
    with serving(standby()) as one, serving(standby()) as two:
        with pytest.raises(StorageFailed, match="not supported in state standby") as caught:
            at(one.address, two.address).list("")
        assert len(one.requests) == len(two.requests) == 2
    assert "HADOOP_CONF_DIR" in caught.value.hint


def test_nothing_answers() -> None:
    with pytest.raises(StorageFailed, match=r"http://127\.0\.0\.1:9: .*[Rr]efused"):
        at("127.0.0.1:9").read("f")


@pytest.mark.parametrize("way", ["create", "replace"])
def test_the_answer_to_a_done_rename_is_lost(node: NameNode, way: str) -> None:
    """The second try finds no temporary file any more: the first one was done."""
    node.after = once(LOST, "RENAME")
    getattr(at(node.address), way)("f", b"body")
    assert node.files == {"/t/f": b"body"}
    assert len(node.asked("RENAME")) == 2


@pytest.mark.parametrize("way", ["create", "replace"])
def test_a_rename_that_was_not_done_is_done_again(node: NameNode, way: str) -> None:
    node.before = once(LOST, "RENAME")
    getattr(at(node.address), way)("f", b"body")
    assert node.files == {"/t/f": b"body"}


@pytest.mark.parametrize("gateway", [False, True])
def test_the_answer_to_a_done_move_is_lost(node: NameNode, gateway: bool) -> None:
    """A name node throws at the second try, HttpFS says that nothing was moved."""
    node.gateway = gateway
    node.put("/t/a/f", b"body")
    node.after = once(LOST, "RENAME")
    assert at(node.address).move("a", "b")
    assert node.files == {"/t/b/f": b"body"}
    assert not at(node.address).move("a", "c")


@pytest.mark.parametrize("theirs", [b"theirs", b"body"])
def test_another_was_faster(node: NameNode, theirs: bytes) -> None:
    """Also with the very same bytes: our own file still has its temporary name, and is deleted."""

    def create(request: Request) -> Answer | None:
        if request.op == "RENAME":
            node.put("/t/f", theirs)
        return None

    node.before = create
    with pytest.raises(FileExistsError):
        at(node.address).create("f", b"body")
    assert node.files == {"/t/f": theirs}


def test_another_replaces_the_file_before_the_look(node: NameNode) -> None:
    """The answer is lost, and the file that is there is not ours: whether ours was, nobody can say."""

    def lose(request: Request) -> Answer | None:
        if request.op != "RENAME":
            return None
        node.put("/t/f", b"theirs")
        return LOST

    node.after = lose
    with pytest.raises(FileExistsError):
        at(node.address).create("f", b"body")


@pytest.mark.parametrize("way", ["create", "replace"])
def test_a_lost_answer_and_no_look_afterwards(node: NameNode, way: str) -> None:
    """Exit code 17: the file may be there."""

    def gone(request: Request) -> Answer | None:
        return LOST if node.asked("RENAME") else None

    node.before = gone
    with pytest.raises(OutcomeUnknown):
        getattr(at(node.address), way)("f", b"body")


def test_a_data_node_that_does_not_answer(node: NameNode) -> None:
    """The name node is asked for another one: to write, and to read."""
    node.put("/t/f", b"body")
    gone = "127.0.0.1:9"

    def send_away(request: Request) -> Answer | None:
        if request.to_data_node or request.op not in ("OPEN", "CREATE") or "excludedatanodes" in request.query:
            return None
        return Answer(307, location=f"http://{gone}/data{request.path}?op={request.op}")

    node.before = send_away
    store = at(node.address)
    assert store.read("f") == b"body"
    store.create("g", b"more")
    asked = [request for request in node.asked("CREATE") if not request.to_data_node]
    assert [request.query.get("excludedatanodes") for request in asked] == [None, gone]


def test_no_data_node_answers(node: NameNode) -> None:
    node.before = lambda request: Answer(307, location="http://127.0.0.1:9/") if request.op == "OPEN" else None
    with pytest.raises(StorageFailed, match=r"data node 127\.0\.0\.1:9"):
        at(node.address).read("f")


def test_a_part_of_a_file_is_not_the_file(node: NameNode) -> None:
    """The connection breaks while a data node sends: it is asked again."""
    node.put("/t/f", b"the whole body")
    cut = [Answer(body=b"the whole body", cut=5)]
    node.before = lambda request: cut.pop() if request.to_data_node and cut else None
    assert at(node.address).read("f") == b"the whole body"


def test_an_answer_that_was_cut(node: NameNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older urllib3 gives what has come, and no error."""
    node.put("/t/f", b"the whole body")
    sent = HTTPAdapter.send

    def send(adapter: HTTPAdapter, *arguments: Any, **options: Any) -> Any:
        answer = sent(adapter, *arguments, **options)
        if answer.content == b"the whole body":
            answer._content = b"the whole"
        return answer

    monkeypatch.setattr(HTTPAdapter, "send", send)
    with pytest.raises(StorageFailed, match="9 of 14 bytes"):
        at(node.address).read("f")


def test_an_answer_that_is_too_long(node: NameNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is taken into memory than there can be to say."""
    (node.folder / "t/f").write_bytes(b"0123456789")
    store = at(node.address)
    monkeypatch.setattr(module, "_MOST_BYTES", 10)
    assert store.read("f") == b"0123456789"
    monkeypatch.setattr(module, "_MOST_BYTES", 9)
    for call in (lambda: store.list(""), lambda: store.read("f")):
        with pytest.raises(StorageFailed, match="sends more than 9 bytes"):
            call()


def test_deletions_while_nothing_answers(node: NameNode) -> None:
    """Each path has its error, and the others are not tried: each would take as long to fail."""
    node.before = always(LOST, "DELETE")
    outcomes = at(node.address).delete([f"p/{number}" for number in range(50)])
    assert [outcome.path for outcome in outcomes] == [f"p/{number}" for number in range(50)]
    assert all(outcome.error for outcome in outcomes)
    assert len({request.path for request in node.requests}) == 1


REFUSALS: list[tuple[str, str, type[HudictlError], str]] = [
    ("org.apache.hadoop.security.AccessControlException", "Permission denied: user=bob", StorageFailed, "bob"),
    ("org.apache.hadoop.hdfs.protocol.NSQuotaExceededException", "quota of /t: 10", StorageFailed, "NSQuotaExceeded"),
    ("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "diskspace quota", StorageFailed, "DSQuotaExceeded"),
    ("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Cannot rename.\nIt is on", StorageFailed, "SafeMode"),
    ("org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException", "lease", Conflict, "AlreadyBeingCreated"),
    ("org.apache.hadoop.hdfs.protocol.RecoveryInProgressException", "recovery", Conflict, "RecoveryInProgress"),
]


@pytest.mark.parametrize(("java_class", "message", "kind", "shown"), REFUSALS)
@pytest.mark.parametrize("op", ["CREATE", "RENAME"])
def test_what_a_refusal_tells(
    node: NameNode, op: str, java_class: str, message: str, kind: type[HudictlError], shown: str
) -> None:
    """The exception's name, one line, and what to do; the temporary file is deleted."""
    node.before = always(refusal(java_class, message), op)
    with pytest.raises(kind, match=shown) as caught:
        at(node.address).create("f", b"body")
    assert "\n" not in caught.value.message
    assert "again" in caught.value.hint
    assert node.files == {}


def test_a_refusal_that_is_no_java_exception(node: NameNode) -> None:
    """Of a gateway, for example."""
    node.before = lambda _: Answer(502, b"<html>")
    with pytest.raises(StorageFailed, match="502"):
        at(node.address).list("")


def test_an_address_of_something_else(node: NameNode) -> None:
    node.before = lambda _: Answer(200, b"<html>")
    with pytest.raises(StorageFailed, match="not in JSON"):
        at(node.address).list("")


def test_a_file_in_the_place_of_a_folder(node: NameNode) -> None:
    """Before Hadoop 3.3 this was a refused access."""
    node.before = lambda _: refusal("org.apache.hadoop.security.AccessControlException", "/t/f (is not a directory)")
    assert at(node.address).stat("f/g") is None


def test_new_folders_have_the_rights_of_those_above(node: NameNode) -> None:
    """The operator's umask must not lock out the table's writers; a superuser gives what it makes to their owner."""
    node.before = always(Answer(), "SETOWNER")
    at(node.address, user="hdfs").create("p/q/f", b"body")
    assert [(request.path, request.query["permission"]) for request in node.asked("MKDIRS")] == [
        ("/t/p", "755"),
        ("/t/p/q", "755"),
    ]
    (created, _) = node.asked("CREATE")
    assert created.query["permission"] == "644"
    owners = [(request.path, request.query["owner"], request.query["group"]) for request in node.asked("SETOWNER")]
    assert owners == [(path, "hudi", "lake") for path in ("/t/p", "/t/p/q", created.path)]


def test_an_operator_who_may_not_give_files_away(node: NameNode) -> None:
    node.before = always(refusal("org.apache.hadoop.security.AccessControlException", "no superuser"), "SETOWNER")
    at(node.address, user="alice").create("f", b"body")
    assert node.files == {"/t/f": b"body"}


def test_who_asks(node: NameNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option, else the variable that Hadoop's own clients take."""
    monkeypatch.setenv("HADOOP_USER_NAME", "eve")
    for options, user in (({"user": "hudi"}, "hudi"), ({}, "eve")):
        store = open_storage("webhdfs:" + node.address.removeprefix("http:") + "/t", ".tmp", options)
        store.stat("f")
        assert node.requests[-1].query["user.name"] == user


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
    monkeypatch.setattr("getpass.getuser", _nobody)
    with pytest.raises(UsageError, match="no name"):
        open_storage("hdfs://h/t", ".tmp", {})


def _nobody() -> str:
    raise KeyError("getpwuid(): uid not found: 12345")


def test_an_unknown_option() -> None:
    with pytest.raises(UsageError, match="--storage-option key") as caught:
        at("h:1", key="secret")
    assert "secret" not in f"{caught.value.message}{caught.value.hint}"


def test_it_is_sent_to_other_processes(node: NameNode) -> None:
    """Also after its first calls; the settings are not read there."""
    node.put("/t/f", b"body")
    store = at(node.address)
    store.stat("f")
    sent: Any = pickle.loads(pickle.dumps(store))
    assert sent.read("f") == b"body"


def test_it_appends_to_a_file_of_a_known_size(node: NameNode) -> None:
    node.put("/t/f", b"old")
    store = at(node.address)
    assert store.append("f", 3, b"new")
    with pytest.raises(Conflict, match="6 bytes, not 3"):
        store.append("f", 3, b"new")
    with pytest.raises(FileNotFoundError):
        store.append("g", 0, b"new")
    assert node.files == {"/t/f": b"oldnew"}


@pytest.mark.parametrize("name", ["AlreadyBeingCreatedException", "RecoveryInProgressException"])
def test_it_does_not_append_to_a_file_that_another_has_open(node: NameNode, name: str) -> None:
    node.put("/t/f", b"old")
    node.before = always(refusal(f"org.apache.hadoop.hdfs.protocol.{name}", "open"), "APPEND")
    assert not at(node.address).append("f", 3, b"new")


def test_the_answer_to_an_append_is_lost(node: NameNode) -> None:
    """It is not sent again: what is in the file says whether it was done, or it is not known."""
    node.put("/t/f", b"old")
    node.after = lambda request: LOST if request.op == "APPEND" and request.to_data_node else None
    assert at(node.address).append("f", 3, b"new")
    node.before, node.after = node.after, lambda _: None
    with pytest.raises(OutcomeUnknown, match="3 bytes more"):
        at(node.address).append("f", 6, b"new")
    assert node.files == {"/t/f": b"oldnew"}


def test_a_file_that_a_living_writer_has_open(node: NameNode) -> None:
    """It is refused; a closed file is left alone."""
    node.put("/t/f", b"old")
    store = at(node.address)
    store.end_writing("f")
    assert not node.asked("APPEND")
    node.open_files.add("/t/f")
    with pytest.raises(Conflict, match="currently owned") as caught:
        store.end_writing("f")
    assert "minute" in caught.value.hint


@pytest.mark.parametrize("gone_after", [1, 3, None])
def test_the_lease_of_a_dead_writer(node: NameNode, monkeypatch: pytest.MonkeyPatch, gone_after: int | None) -> None:
    """The data nodes take their time; it is waited for, but not for ever."""
    monkeypatch.setattr("hudictl.storage.hdfs._RECOVERY_PAUSES_S", (0, 0, 0, 0))
    node.put("/t/f", b"old")
    node.open_files.add("/t/f")

    def recover(request: Request) -> Answer | None:
        if request.op != "APPEND":
            return None
        if len(node.asked("APPEND")) == gone_after:
            node.open_files.clear()
        return refusal("org.apache.hadoop.hdfs.protocol.RecoveryInProgressException", "Try again later.")

    node.before = recover
    if gone_after is None:
        with pytest.raises(Conflict, match="RecoveryInProgress"):
            at(node.address).end_writing("f")
    else:
        at(node.address).end_writing("f")
        assert len(node.asked("APPEND")) == gone_after
    assert node.files == {"/t/f": b"old"}


def test_snapshots_keep_what_is_deleted(node: NameNode) -> None:
    """Those of the table's own folder, or of one above; a folder may have snapshots allowed, and none yet."""
    store = at(node.address)
    assert store.below("p").keeps_deleted() is None
    node.local("/.snapshot").mkdir()
    assert store.keeps_deleted() is None
    for name in ("s1", "s2"):
        node.local(f"/.snapshot/{name}").mkdir()
    assert "snapshots of / keep deleted files, and their space: 2, the last by name s2" in str(store.keeps_deleted())
    node.local("/t/.snapshot/daily").mkdir(parents=True)
    assert "copied from /t/.snapshot/daily" in str(store.below("p").keeps_deleted())


@pytest.fixture
def gateway(node: NameNode) -> NameNode:
    node.gateway = True
    return node


def test_a_gateway_replaces_files(gateway: NameNode) -> None:
    """It cannot rename over a file: the old one is moved away, and nothing of it stays."""
    store = at(gateway.address)
    for body in (b"old", b"new"):
        store.replace("f", body)
    assert gateway.files == {"/t/f": b"new"}


def test_a_gateway_that_fails_in_the_middle_of_a_replacement(gateway: NameNode) -> None:
    """The old file is put back."""
    gateway.put("/t/f", b"old")
    refused = refusal("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Name node is in safe mode.")
    gateway.before = lambda request: refused if len(gateway.asked("RENAME")) == 3 and request.op == "RENAME" else None
    with pytest.raises(StorageFailed, match="safe mode"):
        at(gateway.address).replace("f", b"new")
    assert gateway.files == {"/t/f": b"old"}


def test_a_gateway_creates_exclusively(gateway: NameNode) -> None:
    """Also where a folder has the name: it would move the file into it."""
    store = at(gateway.address)
    store.create("p/f", b"body")
    for path in ("p/f", "p"):
        with pytest.raises(FileExistsError):
            store.create(path, b"other")
    with pytest.raises(StorageFailed, match="p: it is a folder"):
        store.replace("p", b"other")
    assert gateway.files == {"/t/p/f": b"body"}


def test_a_gateway_knows_open_files(gateway: NameNode) -> None:
    """By another operation than a name node does."""
    gateway.put("/t/f", b"old")
    at(gateway.address).end_writing("f")
    gateway.open_files.add("/t/f")
    with pytest.raises(Conflict):
        at(gateway.address).end_writing("f")


def test_a_gateway_moves_nothing_into_a_folder(gateway: NameNode) -> None:
    store = at(gateway.address)
    store.create("a/f", b"a")
    store.create("b/f", b"b")
    with pytest.raises(StorageFailed, match="b exists"):
        store.move("a", "b")
    assert store.move("a", "c")
    assert gateway.files == {"/t/b/f": b"b", "/t/c/f": b"a"}


@pytest.mark.parametrize(("start", "length"), [(0, None), (2, 3), (2, None)])
def test_a_gateway_without_data_nodes(gateway: NameNode, start: int, length: int | None) -> None:
    """It answers with nothing, as if the file were empty (HttpFS 3.3.6)."""
    gateway.put("/t/f", b"the body")
    store = at(gateway.address)
    assert store.read("f", start, length) == b"the body"[start:][:length]
    gateway.before = always(Answer(body=b""), "OPEN")
    with pytest.raises(StorageFailed, match="sent 0 bytes"):
        store.read("f", start, length)
    gateway.put("/t/f", b"")
    assert store.read("f") == b""


@pytest.mark.parametrize(
    ("message", "kind", "name"),
    [
        ("Cannot rename. Name node is in safe mode.", StorageFailed, "SafeModeException"),
        ("Failed to APPEND_FILE because this file lease is currently owned by X", Conflict, "AlreadyBeingCreated"),
        ("Failed, because lease recovery is in progress.", Conflict, "RecoveryInProgress"),
        ("something else", StorageFailed, "RemoteException"),
    ],
)
def test_a_gateway_tells_only_the_message(gateway: NameNode, message: str, kind: type[HudictlError], name: str) -> None:
    gateway.before = always(refusal("org.apache.hadoop.ipc.RemoteException", message, 500), "RENAME")
    with pytest.raises(kind, match=name):
        at(gateway.address).create("f", b"body")


def test_a_file_that_has_no_space_leaves_nothing(node: NameNode) -> None:
    """HDFS leaves an empty file where the quota is used up."""
    node.after = always(refusal("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "used up"), "CREATE")
    with pytest.raises(StorageFailed, match="DSQuotaExceededException: used up"):
        at(node.address).create("f", b"body")
    assert node.files == {}
