"""The instants of a log's blocks: what its pieces say, together, is what the whole log does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.formats.log_blocks import COMMAND, CORRUPT, DELETE, Block
from hudictl.formats.log_mentions import Mention, mention, merged

T1, T2 = "20261121000000001", "20261121000000002"


def block(number: int, instant: str, target: str | None = None) -> Block:
    command = {"COMMAND_BLOCK_TYPE": "0", "TARGET_INSTANT_TIME": target} if target else {}
    return Block(COMMAND if target else DELETE, 10 * number, 10, 0, 0, {"INSTANT_TIME": instant, **command})


KINDS = st.sampled_from([(T1, None), (T2, None), (T1, T2), (T2, T1)])


def test_an_instant_has_its_first_place_and_its_last() -> None:
    blocks = [block(0, T1), block(1, T2, T1), block(2, T1), Block(CORRUPT, 30, 40, 30, 10)]
    assert merged(mention(index, one) for index, one in enumerate(blocks)) == (
        Mention(T1, None, 0, 0, 2),
        Mention(T2, T1, 1, 10, 1),
        Mention(None, None, 3, 30, 3),
    )


@pytest.mark.slow
@given(kinds=st.lists(KINDS), cut=st.integers(0, 20))
def test_pieces_say_what_the_whole_log_does(kinds: list[tuple[str, str | None]], cut: int) -> None:
    every = [mention(number, block(number, *kind)) for number, kind in enumerate(kinds)]
    assert merged([*merged(every[cut:]), *merged(every[:cut])]) == merged(every)
