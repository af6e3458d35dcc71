"""The table contract: unique keys, positions without holes, commits at their cadence."""

from datetime import timedelta
from itertools import pairwise

from bot.domain.contract import TableContract
from bot.domain.entries import Finding
from bot.domain.evidence import Evidence, Verdict
from bot.domain.ids import SnapshotId
from bot.domain.incident import Incident
from bot.domain.table import TableState

CADENCE_SLACK = 2
"""Commits may be this many times `commit_every` apart before the cadence counts as not kept."""


def table_terms(incident: Incident, table: TableState, contract: TableContract) -> tuple[Finding, ...]:
    """Key, positions, cadence."""
    key = ", ".join(contract.key) or "not named"
    return (
        _counted(
            incident,
            task="duplicate_rows",
            term=f"One row per key ({key}).",
            broken="Make the writer's restore pair with the table, or write with upsert on this key.",
        ),
        _counted(
            incident,
            task="missing_positions",
            term=f"Source positions without holes ({contract.position})."
            if contract.position
            else "Source positions without holes.",
            broken="Never move the table without its job; alert on holes in the positions.",
            unnamed=None if contract.position else "Name the position column in the table's contract.",
        ),
        cadence_term(table, incident.window.since, contract.commit_every),
    )


def _finding(term: str, observed: str, holds: bool | None, action: str) -> Finding:
    return Finding(contract="table", term=term, observed=observed, holds=holds, action=action)


def _counted(incident: Incident, *, task: str, term: str, broken: str, unnamed: str | None = None) -> Finding:
    """From all answers of one task: broken if it was ever confirmed; the newest answer tells how it ended."""
    answers = [run.evidence for run in incident.runs.values() if run.task == task and run.evidence is not None]
    told = [answer for answer in answers if answer.verdict is not Verdict.INCONCLUSIVE]
    if not told:
        asked = answers[-1].headline if answers else "The evidence was not asked for."
        return _finding(term, asked, None, unnamed or f"Run {task.replace('_', ' ')} before the next incident does.")
    worst = next((answer for answer in told if answer.verdict is Verdict.CONFIRMED), None)
    if worst is None:
        return _finding(term, told[-1].headline, True, "Nothing to do.")
    return _finding(term, _then_and_now(worst, told[-1]), False, broken)


def _then_and_now(worst: Evidence, newest: Evidence) -> str:
    then = f"At {worst.at:%H:%M} UTC: {worst.headline}"
    return then if newest is worst else f"{then} At {newest.at:%H:%M} UTC: {newest.headline}"


def cadence_term(table: TableState, since_id: SnapshotId | None, commit_every: timedelta | None) -> Finding:
    """Whether main was committed to as often as promised, since the window began (None: since the first commit)."""
    term = "Commits come at their cadence."
    if commit_every is None:
        return _finding(
            term, "The contract does not say how often the table is committed to.", None, "Name commit_every in it."
        )
    since = table.by_id.get(since_id) if since_id is not None else None
    times = [s.committed_at for s in reversed(table.chain) if since is None or s.committed_at >= since.committed_at]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    expected = f"one every {commit_every.total_seconds():g} s"
    if not gaps:
        return _finding(term, f"Expected {expected}; too few commits to tell.", None, "Look again later.")
    longest = max(gaps)
    holds = longest <= CADENCE_SLACK * commit_every
    observed = f"Expected {expected}; the longest pause since the window began was {longest.total_seconds():g} s."
    action = "Nothing to do." if holds else "Alert on the table's own commits, not only on the job being RUNNING."
    return _finding(term, observed, holds, action)
