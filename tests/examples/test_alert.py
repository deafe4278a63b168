"""The example that posts findings to a webhook."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest


class Webhook(HTTPServer):
    """Keeps what is posted; answers with ``status``."""

    def __init__(self) -> None:
        self.posted: list[dict[str, Any]] = []
        self.status = 200
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?token=of-the-chat"


class _Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        self.server.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_said: Any) -> None:
        return None


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Webhook() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def main(trips: Path) -> Any:
    return import_module("alert").main


def test_findings_are_posted(main: Any, trips: Path, webhook: Webhook) -> None:
    lost = next(trips.glob("part-0/*_20261121030301559.parquet"))
    lost.unlink()
    assert main(webhook.url, "trips") == 0
    (message,) = webhook.posted
    assert message["table"] == "trips"
    assert str(len(message["findings"])) in message["text"]
    (found,) = [row for row in message["findings"] if lost.name in row["subject"]]
    assert (found["finding"], found["severity"]) == ("missing-file", "error")
    assert found["meaning"]
    assert found["advice"]


def test_without_findings_nothing_is_posted(main: Any, webhook: Webhook) -> None:
    assert main(webhook.url, "trips") == 0
    assert webhook.posted == []


def test_a_table_that_cannot_be_checked_is_posted_too(main: Any, trips: Path, webhook: Webhook) -> None:
    (trips / ".hoodie/hoodie.properties").unlink()
    assert main(webhook.url, "trips", "unknown") == 1
    said = [(message["error"], message["exit_code"]) for message in webhook.posted]
    assert said == [("unreadable", 14), ("usage", 2)]


def test_a_webhook_that_refuses_is_reported_without_its_address(
    main: Any, trips: Path, webhook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    next(trips.glob("part-0/*_20261121030301559.parquet")).unlink()
    webhook.status = 503
    assert main(webhook.url, "trips") == 1
    said = capsys.readouterr().err
    assert "the webhook did not take it" in said
    assert "token" not in said
