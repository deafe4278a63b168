"""``compaction validate``: what is wrong with the plan of a pending compaction."""

from hudictl.engine.base import Engine
from hudictl.errors import Refused
from hudictl.formats.instants import COMPACTION, LOGCOMPACTION
from hudictl.phrases import command_of
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.services.plan_problems import PlanProblem, plan_problems
from hudictl.state.timeline.service_plans import service_groups
from hudictl.table.table import Table


def compaction_problems(table: Table, engine: Engine, time: str) -> list[PlanProblem]:
    """Raises Refused: no compaction or log compaction of this time is pending; Unreadable, StorageFailed,
    EngineFailed."""
    signs = read_signs(table)
    instant = signs.timeline.find(time, COMPACTION, LOGCOMPACTION)
    if instant is None:
        hint = f"`{command_of('compaction list')}` lists them"
        raise Refused(f"no compaction {time} is pending", hint=hint, instant=time)
    partitions = {partition for partition, _ in service_groups(table, instant)}
    engine.start()
    return plan_problems(read_facts(table, engine, signs, choose=lambda _: partitions), instant)
