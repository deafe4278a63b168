"""What the tests of rollback share with others."""

from hypothesis import strategies as st

from hudictl.formats.rollback import (
    InstantInfo,
    RollbackMetadata,
    RollbackPartition,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=15)


SIZES = st.dictionaries(TEXT, st.integers(0, 2**63 - 1), max_size=3)


INFOS = st.builds(InstantInfo, TEXT, TEXT)


NAMES = st.lists(TEXT, max_size=3).map(tuple)


METADATA = st.builds(
    RollbackMetadata,
    TEXT,
    st.integers(0, 2**63 - 1),
    INFOS,
    st.dictionaries(TEXT, st.builds(RollbackPartition, NAMES, SIZES, SIZES), max_size=3),
)
