"""How every repair speaks: of its files, the reasons, and what readers lose."""

from typing import TYPE_CHECKING

from hudictl.cli.change import ChangeCommand, Question, in_lines, run_change
from hudictl.cli.options import ChangeOptions
from hudictl.phrases import count_of, undo_text

if TYPE_CHECKING:
    from hudictl.library.change import Change
    from hudictl.ops.repair.plan import RepairPlan, RepairResult
    from hudictl.table.table import Table


def run_repair(repair: "Change[RepairPlan, RepairResult]", how: ChangeOptions, core: "Table | None" = None) -> None:
    """Runs a repair as a command."""
    from hudictl.render.locks import lock_line

    def lines(plan: "RepairPlan") -> list[str]:
        said = []
        for file in plan.files:
            said += [f"{file.change} {file.path}", *(f"  {reason}" for reason in file.reasons)]
        said += [f"Lost: {what}" for what in plan.lost] or ["Nothing is lost."]
        said += [f"Not proven: {what}" for what in plan.guessed]
        said += [f"Also damaged: {what}" for what in plan.elsewhere]
        return [*said, f"{lock_line(plan.lock)} All writers and table services must be stopped."]

    command: ChangeCommand[RepairPlan, RepairResult] = ChangeCommand(
        name=repair.command,
        change=repair,
        show=in_lines(lines),
        shown_first=True,
        question=lambda plan: Question(f"Change {count_of(len(plan.files), 'file')}? `hudictl undo` takes it back."),
        done=lambda plan, result: f"mended {count_of(len(plan.files), 'file')}{undo_text(result.undo)}",
    )
    run_change(command, how, core=core)
