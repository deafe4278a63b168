"""Writers that are taken for dead by settings that are not theirs, and a restore that does not know its own work."""

from tests.mutants.fault import Fault

SETTINGS = ("cli/test_heartbeat_settings.py",)
RULE = ("table/writers/test_heartbeats.py",)
RESUME = ("ops/restore/test_resume.py",)

FAULTS = (
    Fault(
        "table/beat_rule.py",
        "return max(self.limit_ms, _DOUBT_MS) if self.assumed else self.limit_ms",
        "return self.limit_ms",
        "a heartbeat of ten minutes proves a death, whatever the writers' settings are",
        (*RULE, *SETTINGS),
    ),
    Fault(
        "table/beat_rule.py",
        "given = INTERVAL in settings",
        "given = True",
        "Hudi's defaults count as specified",
        SETTINGS,
    ),
    Fault(
        "cli/writers_options.py",
        "            common = replace(common, rule=heartbeat_rule(kept | asked), rule_said=said)\n",
        "            common = replace(common, rule=heartbeat_rule(given), rule_said=said)\n",
        "commands that change the table do not read the profile's heartbeat settings",
        SETTINGS,
    ),
    Fault(
        "cli/commands/apply.py",
        "rule = common.rule if common.rule_said or kept is None or kept.assumed else kept",
        "rule = common.rule",
        "a saved plan is applied by another rule than it was made by",
        SETTINGS,
    ),
    Fault(
        "cli/commands/check.py",
        "table_at(storage, options.timezone, heartbeat_rule(own.given))",
        "table_at(storage, options.timezone)",
        "`check` does not read the writers' heartbeat settings",
        SETTINGS,
    ),
    Fault(
        "ops/restore/scope.py",
        "        own = _half_removed(signs, target, pending)\n",
        "        own: set[str] = set()\n",
        "a restore that died while it removed an ended rollback can never be finished",
        RESUME,
    ),
    Fault(
        "ops/restore/scope.py",
        "if entry.target is not None and entry.target not in times}",
        "if entry.target is not None}",
        "a rollback of a kept commit counts as the restore's own work",
        RESUME,
    ),
    Fault(
        "table/writers/heartbeats.py",
        "if not entry.is_dir and entry.name.isascii()",
        "if entry.name.isascii()",
        "an old folder in the place of a heartbeat proves that a writer is dead",
        RULE,
    ),
    Fault(
        "ops/undo/execute.py",
        "        if outcome.error is not None and not table.storage.has_folder(outcome.path):\n",
        "        if outcome.error is not None:\n",
        "beside a folder in the place of a heartbeat a rollback stays pending for ever",
        ("ops/undo/test_execute.py::test_a_folder_in_the_place_of_a_heartbeat_stays",),
    ),
)
