"""A recorded operation, as text."""

from collections.abc import Mapping
from typing import Any


def plan_facts(plan: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """A recorded plan as names and values, one level deep."""
    facts: list[tuple[str, Any]] = []
    for key, value in plan.items():
        if isinstance(value, Mapping):
            facts += [(f"{key}: {name}", entry) for name, entry in value.items()]
        elif value and isinstance(value, list) and isinstance(value[0], Mapping):
            facts += [(key, ", ".join(f"{name} {part}" for name, part in entry.items())) for entry in value]
        else:
            facts.append((key, value))
    return facts
