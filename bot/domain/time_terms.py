"""The promised times of rows: how old the newest event may be, and how late a row may come.

Event times stand in the data: evidence of the incident tells them. Where nobody asked for it, the commits alone can
show that a promise broke, never that it was kept.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from bot.domain.clock_time import clock_time
from bot.domain.contract import TableContract
from bot.domain.entries import Finding
from bot.domain.evidence import Evidence, Verdict
from bot.domain.findings import FreshnessFinding, LateRowsFinding
from bot.domain.incident import Incident
from bot.domain.snapshot import Snapshot
from bot.domain.spans import span
from bot.domain.table import TableState

_NOTHING = "Nothing to do."
_COPIES_ONLY = frozenset({"replace", "delete"})


def time_terms(incident: Incident, table: TableState, contract: TableContract) -> tuple[Finding, ...]:
    """Freshness and lateness, each where it is promised."""
    return (
        *([_fresh(incident, table, contract.freshness)] if contract.freshness is not None else []),
        *([_in_time(incident, contract.late_after)] if contract.late_after is not None else []),
    )


def fresh_enough(promised: timedelta, age: timedelta | None) -> Finding:
    """Freshness at one moment; `age` None: it cannot be told."""
    observed = "Its age cannot be told." if age is None else f"It was {span(age)} old when the metadata was read."
    return _freshness(promised, observed, None if age is None else age <= promised)


def _freshness(promised: timedelta, observed: str, holds: bool | None) -> Finding:
    action = "Ask for the evidence `freshness`: it tells whether commits or events stay away."
    term = f"The newest event is at most {span(promised)} old."
    return Finding(
        contract="table", term=term, observed=observed, holds=holds, action=_NOTHING if holds else action
    )  # fmt: skip


def _fresh(incident: Incident, table: TableState, promised: timedelta) -> Finding:
    """Broken if the newest event was ever older, or if no commit brought rows for longer: then it must have been."""
    answers = _answers(incident, "freshness")
    ages = [(each.at, age) for each in answers if (age := _age(each)) is not None]
    quiet = _longest_without_rows(incident, table)
    if ages and (worst := max(ages, key=lambda each: each[1]))[1] > promised:
        later = f" At {clock_time(ages[-1][0], worst[0])} it was {span(ages[-1][1])} old." if ages[-1] != worst else ""
        observed = f"At {clock_time(worst[0], incident.opened_at)} it was {span(worst[1])} old.{later}"
        return _freshness(promised, observed, False)
    if quiet is not None and (paused := quiet[1] - quiet[0]) > promised:
        since, until = clock_time(quiet[0], quiet[1]), clock_time(quiet[1], incident.opened_at)
        observed = f"From {since} to {until}, for {span(paused)}, no commit on main brought rows."
        return _freshness(promised, observed, False)
    if ages:
        worst_age = span(max(age for _, age in ages))
        looks = "once, and it was" if len(ages) == 1 else f"{len(ages)} times, and it was at most"
        return _freshness(promised, f"Its age was looked at {looks} {worst_age} old.", True)
    said = f"it answered: {answers[-1].headline}" if answers else "it was not asked for."
    pauses = f" No pause between commits with rows was longer than {span(quiet[1] - quiet[0])}." if quiet else ""
    return _freshness(promised, f"Not observed: the evidence `freshness` tells it; {said}{pauses}", None)


def _age(answer: Evidence) -> timedelta | None:
    finding = answer.finding
    if not isinstance(finding, FreshnessFinding) or finding.event_age_s is None:
        return None
    return timedelta(seconds=finding.event_age_s)


def _longest_without_rows(incident: Incident, table: TableState) -> tuple[datetime, datetime] | None:
    """(from, until) of the longest time since the window began in which nothing that ever was on main brought rows,
    up to the reading of the metadata; None where no such commit is listed."""
    since = table.by_id.get(incident.window.since) if incident.window.since is not None else None
    edge = since.committed_at if since is not None else None
    once_on_main: Sequence[Snapshot] = (*table.chain, *table.rolled_back)
    times = sorted(s.committed_at for s in once_on_main if _may_bring_rows(s) and (not edge or s.committed_at >= edge))
    if not times:
        return None
    return max(pairwise([*times, max(table.read_at, times[-1])]), key=lambda pause: pause[1] - pause[0])


def _may_bring_rows(commit: Snapshot) -> bool:
    """False only for what certainly brings none: compactions, deletes, and Flink's empty commits, which say neither of
    rows nor of files that they added any."""
    said = {"added-records", "added-data-files"} & commit.summary.keys()
    is_empty = commit.summary.get("added-records") == "0" or (commit.job_id is not None and not said)
    return commit.operation not in _COPIES_ONLY and not is_empty


def _in_time(incident: Incident, promised: timedelta) -> Finding:
    term = f"No row comes later than {span(promised)} after newer ones."
    action = "Ask for the evidence `late_rows`; then mend the source, or widen what is promised with its readers."
    answers = [each for each in _answers(incident, "late_rows") if isinstance(each.finding, LateRowsFinding)]
    judged = [(each, late) for each in answers if (late := _is_late(each, promised)) is not None]
    if not judged:
        said = f"it answered: {answers[-1].headline}" if answers else "it was not asked for."
        observed = f"Not observed: the evidence `late_rows` tells it; {said}"
        return Finding(contract="table", term=term, observed=observed, holds=None, action=action)
    broken = [each for each, late in judged if late]
    shown = broken[0] if broken else judged[-1][0]
    observed = f"At {clock_time(shown.at, incident.opened_at)}: {shown.headline}"
    return Finding(
        contract="table", term=term, observed=observed, holds=not broken, action=action if broken else _NOTHING
    )  # fmt: skip


def _is_late(answer: Evidence, promised: timedelta) -> bool | None:
    """Held against what is promised now: the answer may have been given under another promise."""
    finding = answer.finding
    assert isinstance(finding, LateRowsFinding)
    if finding.worst_s is not None and finding.worst_s > promised.total_seconds():
        return True
    told = answer.verdict is not Verdict.INCONCLUSIVE and finding.allowed_s <= promised.total_seconds()
    return False if told else None


def _answers(incident: Incident, task: str) -> list[Evidence]:
    """Of the incident, on main, oldest first."""
    runs = (run for run in incident.runs.values() if run.task == task and run.branch is None)
    return [run.evidence for run in runs if run.evidence is not None]
