"""Deletions of many objects in one request, with the outcome of each: what the stores of S3, Google and Azure share."""

import email
import logging
import re
from collections.abc import Callable, Sequence

from hudictl.storage.patience import LATER, Kept, patiently
from hudictl.storage.remote import at_once, words

_log = logging.getLogger(__name__)

_ABSENT = 404
_NOT_UNDERSTOOD = 400
_NUMBER = re.compile(r"(\d+)>?$")
_STATUS = re.compile(rb"\s*HTTP/[\d.]+ (\d{3})([^\r\n]*)")
_MESSAGE = re.compile(rb'(?:"message": *"|<Message>)([^"<\r\n]+)')


def has_no_batches(error: Exception) -> bool:
    """Whether the status code of a whole request says so: each server that knows none has its own."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None) or 0
    return (400 <= status < 500 or status == 501) and status not in LATER


def in_batches(
    names: Sequence[str],
    size: int,
    send: Callable[[Sequence[str]], tuple[str, bytes]],
    singly: Callable[[Sequence[str]], dict[str, Kept]],
    passes: Callable[[Exception], bool | None],
    refused: list[str],
    guard: Callable[[], None],
) -> dict[str, str]:
    """Deletes objects, many in a request of several parts; returns the errors of those that still exist.

    Args:
        size: how many one request takes.
        send: one such request, with the number of each name at the end of its part's Content-ID; the content type and
            body of the answer. Raises what the driver raises.
        singly: deletes objects, a request each: those that have no answer of their own, or that it was not understood.
        passes: whether another try may not meet an error of the driver's; not, if it has tried more than once itself;
            None: the error is a refusal.
        refused: why this store gets no such requests any more, if it does not.
        guard: see ``patiently``.
    """

    def request(part: Sequence[str]) -> dict[str, Kept]:
        why, answers = "no part of a request was understood", dict[int, tuple[int, str]]()
        try:
            answers = _answers(*send(part))
        except Exception as error:  # all of them failed, or the reply was lost: a rerun shows which
            why = words(error)
            later = passes(error)
            if later is not None and not has_no_batches(error):
                return dict.fromkeys(part, Kept(why, later))
        kept, rest = dict[str, Kept](), list[str]()
        for number, name in enumerate(part):
            code, reason = answers.get(number, (_NOT_UNDERSTOOD, ""))
            if code == _NOT_UNDERSTOOD:
                rest.append(name)
            elif not (200 <= code < 300 or code == _ABSENT):
                kept[name] = Kept(reason, code in LATER)
        if len(rest) == len(part):
            _log.info("files are deleted by a request each from now on: %s", why)
            refused.append(why)
        return kept | singly(rest)

    # Also one file goes in such a request: others, when no answer came, aiohttp itself sends once more (3.14).
    if refused:
        return patiently(singly, names, guard)
    parts = [names[start : start + size] for start in range(0, len(names), size)]
    found = at_once(lambda part: patiently(request, part, guard), parts)
    return {name: reason for kept in found for name, reason in kept.items()}


def _answers(content_type: str, body: bytes) -> dict[int, tuple[int, str]]:
    """By the number of its part, the status code of each answer, and what it says."""
    message = email.message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    found = {}
    for part in message.walk():
        number, answer = _NUMBER.search(part.get("Content-ID", "").strip()), part.get_payload(decode=True)
        status = _STATUS.match(answer) if isinstance(answer, bytes) else None
        if number and status and isinstance(answer, bytes):
            code, phrase = status.groups()
            said = _MESSAGE.search(answer)
            reason = code + b" " + (said[1] if said else phrase.strip())
            found[int(number[1])] = int(code), reason.decode(errors="replace")
    return found
