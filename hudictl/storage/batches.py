"""Deletions of many objects in one request, with the outcome of each: what the stores of S3, Google and Azure share."""

import email
import logging
import random
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from hudictl.storage.remote import at_once, words

_log = logging.getLogger(__name__)

_PAUSES_S = (0.2, 0.5, 1, 2, 4, 8)
"""Between the tries, in seconds, about: many tasks delete at once."""
_STEADY = 3
"""The index of the longest pause while a store still deletes some of the files."""
_LATER = frozenset({408, 429, 500, 502, 503, 504})
"""Status codes that another try may not meet."""
_ABSENT = 404
_NOT_UNDERSTOOD = 400
_NUMBER = re.compile(r"(\d+)>?$")
_STATUS = re.compile(rb"\s*HTTP/[\d.]+ (\d{3})([^\r\n]*)")
_MESSAGE = re.compile(rb'(?:"message": *"|<Message>)([^"<\r\n]+)')


class Kept(NamedTuple):
    """Why an object is still there; ``later``: another try may delete it."""

    reason: str
    later: bool = False


def has_no_batches(error: Exception) -> bool:
    """Whether the status code of a whole request says so: each server that knows none has its own."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None) or 0
    return (400 <= status < 500 or status == 501) and status not in _LATER


def patiently(request: Callable[[Sequence[str]], dict[str, Kept]], names: Sequence[str]) -> dict[str, str]:
    """Deletes objects by a function that tells which are kept, and why; returns the errors of those at the end."""
    kept, tries = request(names), 0
    while tries < len(_PAUSES_S):
        again = [name for name, (_, later) in kept.items() if later]
        if not again:
            break
        pause = _PAUSES_S[tries]
        # A store that limits its requests answers so for single files; drivers try only whole calls again.
        if pause >= 1:
            _log.warning("the store limits requests: %d of %d files are deleted later", len(again), len(names))
        time.sleep(pause * random.uniform(0.5, 1.5))
        left = request(again)
        kept = {name: found for name, found in kept.items() if not found.later} | left
        # With 16 calls at once a store may take long for all of them: it is given up only if it deletes nothing.
        tries = tries + 1 if len(left) == len(again) else min(tries + 1, _STEADY)
    return {name: reason for name, (reason, _) in kept.items()}


def in_batches(
    names: Sequence[str],
    size: int,
    send: Callable[[Sequence[str]], tuple[str, bytes]],
    singly: Callable[[Sequence[str]], dict[str, str]],
    is_repeated: Callable[[Exception], bool],
    refused: list[str],
) -> dict[str, str]:
    """Deletes objects, many in a request of several parts; returns the errors of those that still exist.

    Args:
        size: how many one request takes.
        send: one such request, with the number of each name at the end of its part's Content-ID; the content type and
            body of the answer. Raises what the driver raises.
        singly: deletes objects, a request each: those that have no answer of their own, or that it was not understood.
        is_repeated: whether the driver has tried more than once before it raised this; all else is a refusal.
        refused: why this store gets no such requests any more, if it does not.
    """

    def request(part: Sequence[str]) -> dict[str, Kept]:
        why, answers = "no part of a request was understood", dict[int, tuple[int, str]]()
        try:
            answers = _answers(*send(part))
        except Exception as error:  # all of them failed, or the reply was lost: a rerun shows which
            why = words(error)
            if is_repeated(error) and not has_no_batches(error):
                return dict.fromkeys(part, Kept(why))
        kept, rest = dict[str, Kept](), list[str]()
        for number, name in enumerate(part):
            code, reason = answers.get(number, (_NOT_UNDERSTOOD, ""))
            if code == _NOT_UNDERSTOOD:
                rest.append(name)
            elif not (200 <= code < 300 or code == _ABSENT):
                kept[name] = Kept(reason, code in _LATER)
        if len(rest) == len(part):
            _log.info("files are deleted by a request each from now on: %s", why)
            refused.append(why)
        return kept | {name: Kept(reason) for name, reason in singly(rest).items()}

    if refused or len(names) == 1:
        return singly(names)
    parts = [names[start : start + size] for start in range(0, len(names), size)]
    return {name: reason for kept in at_once(partial(patiently, request), parts) for name, reason in kept.items()}


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
