"""What shows that a start has repeated or lost rows, on a main that may hold such rows already.

Who gives a repair up leaves main with its fault: that is no failure of the start. More of it is.
"""

from bot.domain.action import Action
from bot.domain.effects import StartFromStop, StartJob
from bot.domain.entries import Check
from bot.domain.evidence import Evidence, Verdict
from bot.domain.execution import ProposalView
from bot.domain.findings import DuplicatesFinding, GapsFinding
from bot.domain.incident import Incident


def proofs_of_start(action: Action, view: ProposalView) -> tuple[tuple[str, str], ...]:
    """(evidence task, what it proves); none where the proposal starts no job."""
    starts = any(isinstance(effect, StartJob | StartFromStop) for effect in view.proposal.effects)
    return action.proofs_of_start if starts else ()


def counted_before(incident: Incident, view: ProposalView, task: str) -> int | None:
    """Rows that the task's newest answer of main before the execution counts; None where none told."""
    begun = view.execution_started_at
    of_main = [run.evidence for run in incident.runs.values() if run.task == task and run.branch is None]
    before = [each for each in of_main if each is not None and (begun is None or each.at < begun)]
    told = [rows for each in before if (rows := _rows(each)) is not None]
    return told[-1] if told else None


def no_more_than_before(check: Check, evidence: Evidence | None, before: int | None) -> Check:
    """`check` of this evidence, passed also where it counts no more rows than `before`; not known where nobody had
    counted before."""
    rows = _rows(evidence) if evidence is not None else None
    if evidence is None or rows is None or evidence.verdict is not Verdict.CONFIRMED:
        return check
    if before is None:
        said = f"{check.sentence} Unknown whether this was so before the start: nobody had checked."
        return check.model_copy(update={"passed": None, "sentence": said})
    counted = f"{before:,} such rows were counted before the start, {rows:,} now"
    said = f"{check.sentence} {counted}{': it has added none' if rows <= before else ''}."
    return check.model_copy(update={"passed": rows <= before, "sentence": said})


def _rows(evidence: Evidence) -> int | None:
    """Rows that are there too often, or positions that no row carries; None where that was not told."""
    if isinstance(evidence.finding, DuplicatesFinding):
        return evidence.finding.extra_rows
    if isinstance(evidence.finding, GapsFinding):
        return evidence.finding.missing
    return None
