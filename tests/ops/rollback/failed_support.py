"""What the tests of failed share with others."""

from tests.helpers import Copy, put


def request(copy: Copy, instant: str, *, beat: str = "expired") -> None:
    copy.write(f"{instant}.commit.requested")
    copy.write(f"{instant}.inflight")
    if beat != "none":
        put(copy.meta / ".heartbeat" / instant, old=beat == "expired")
