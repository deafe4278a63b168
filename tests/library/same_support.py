"""What the tests of commands and library share."""

import re
from typing import Any


def settled(value: Any) -> Any:
    """Without what is measured in the moment of a look."""
    if isinstance(value, dict):
        return {key: settled(entry) for key, entry in value.items() if not re.search(r"(age|idle|waited|in)_ms$", key)}
    if isinstance(value, list):
        return [settled(entry) for entry in value]
    return re.sub(r"\d+(\.\d+)? (ms|s)\b", "a moment", value) if isinstance(value, str) else value
