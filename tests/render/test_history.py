"""A recorded operation as text."""

from hudictl.render.history import plan_facts


def test_a_plan_is_told_one_level_deep() -> None:
    plan = {"target": "2026", "options": {"grace_s": 90.0}, "found": [{"restore": "1", "gone": 3}], "rollbacks": []}
    assert plan_facts(plan) == [
        ("target", "2026"),
        ("options: grace_s", 90.0),
        ("found", "restore 1, gone 3"),
        ("rollbacks", []),
    ]
