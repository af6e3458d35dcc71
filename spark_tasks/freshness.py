"""Is the table as fresh as its contract promises?"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pyspark.sql import SparkSession

from bot.incident.contract_terms import CADENCE_SLACK
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import FreshnessFinding
from bot.observation.ids import short
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot
from spark_tasks._support.event_time import (
    BELOW,
    Timed,
    bringing,
    by_commit,
    event_column,
    highest,
    mixes,
    of_the_future,
    timed_files,
    with_overwrites,
)
from spark_tasks._support.reading import require_readable
from spark_tasks._support.words import Inconclusive, answers, at, cell, inconclusive, lasting, moment

TASK = Task(
    name="freshness",
    title="Freshness",
    question="How old are the newest commit and the newest event, and do event times still rise?",
    confirmed_means="the table is older than promised, or its event time does not advance",
    ruled_out_means="the table keeps its promised age now",
    needs=("table",),
    cost=f"manifests of the newest {BELOW} commits with rows, and of as many that overwrite. Where their bounds are "
    "left out or lie in the future, it also reads event times",
    reads="metadata",
    version=3,
)
_STUCK_AFTER = 3
"""So many commits with rows in a row that do not raise the highest event time."""
_SAMPLE = 10


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Ages are taken when the metadata was read, from the newest commits on main that brought rows, in the window or
    not. One that overwrites counts where it surely did: see `bringing`. Bounds of files tell the event times; rows are
    read only where a writer left the bounds out, or where these lie in the future of the commit. No event counts as
    younger than the newest commit.
    """
    table = ask.observation.table
    newest = with_overwrites(table, table.head, BELOW)
    if not newest:
        raise inconclusive(
            source=f"commits of {table.name}",
            reason="No commit with rows is listed on main.",
            remedy="Look whether the job has committed yet, and whether snapshots were expired.",
        )
    files: list[Timed] = []
    try:
        event = event_column(ask)
        require_readable(table, [event.name])
    except Inconclusive as error:
        unseen = error.missing
    else:
        files = timed_files(spark, ask, newest, event)
        unseen = of_the_future(ask, files)
    commits = bringing(newest, files)
    if not commits:
        raise Inconclusive(_doubtful(newest))
    found = told(ask, commits, files, unseen)
    may_be_fresh = not files and told(ask, newest, (), unseen).verdict is not Verdict.CONFIRMED
    if found.verdict is Verdict.CONFIRMED and may_be_fresh:
        raise Inconclusive(_doubtful(newest))
    return found


def told(ask: Ask, commits: Sequence[Snapshot], files: Sequence[Timed], unseen: tuple[NotSeen, ...]) -> Answer:
    """The answer for these commits with rows (oldest first) and their files; `unseen`: why events are not known."""
    finding = finding_of(ask, commits, files)
    broken = _broken(finding)
    promised = [p for p in (finding.promised_s, finding.promised_cadence_s) if p is not None]
    if broken:
        verdict, headline = Verdict.CONFIRMED, f"{'; '.join([broken[0][:1].upper() + broken[0][1:], *broken[1:]])}."
    elif not promised:
        verdict = Verdict.INCONCLUSIVE
        headline = f"{_ages(finding)}; the contract promises neither freshness nor a cadence to judge that by."
        unpromised = NotSeen(
            source="contract.freshness",
            reason=f"The contract of {ask.observation.table.name} promises neither freshness nor commit_every.",
            remedy="Name them in the table's contract.",
        )
        unseen = (*unseen, unpromised)
    elif finding.promised_s is not None and finding.event_age_s is None:
        verdict = Verdict.INCONCLUSIVE
        headline = f"{_ages(finding)}; how old the newest event is, is not known."
    else:
        verdict, headline = Verdict.RULED_OUT, f"{_ages(finding)}, as promised."
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=_measures(finding),
        columns=("snapshot", "committed", "engine", "rows", "newest event"),
        rows=tuple(_row(commit, by_commit(files).get(commit.snapshot_id, [])) for commit in commits[-_SAMPLE:]),
        finding=finding,
        sources=(f"the newest {counted(len(commits), 'commit')} with rows",),
        could_not_look=unseen,
    )


def finding_of(ask: Ask, commits: Sequence[Snapshot], files: Sequence[Timed]) -> FreshnessFinding:
    """Ages and promises; `commits` are not empty."""
    now, newest = ask.observation.table.read_at, commits[-1]
    stuck = _stuck_at(commits, files)
    return FreshnessFinding(
        newest_commit=newest.snapshot_id,
        commit_age_s=_age(now, newest.committed_at),
        event_age_s=_event_age(ask, commits, files),
        promised_s=_seconds(ask.contract.freshness),
        promised_cadence_s=_seconds(ask.contract.commit_every),
        commits_checked=len(commits),
        is_event_time_stuck=stuck is not None,
        stuck_at=None if stuck is None else at(stuck),
    )


def _event_age(ask: Ask, commits: Sequence[Snapshot], files: Sequence[Timed]) -> float | None:
    """At least that of the newest commit, which cannot have brought what happened after it. None: not known, as where
    only events that cannot be placed could keep the promise."""
    now, top, promised = ask.observation.table.read_at, highest(files), _seconds(ask.contract.freshness)
    if top is None:
        return None
    age = max(_age(now, at(top)), _age(now, commits[-1].committed_at))
    unplaced = {file.snapshot_id for file in files if file.is_ahead}
    may_be_newer = any(c.snapshot_id in unplaced and c.committed_at > at(top) for c in commits)
    if may_be_newer and promised is not None and age > promised:
        return None
    return age


def _stuck_at(commits: Sequence[Snapshot], files: Sequence[Timed]) -> int | None:
    """Where the highest event time stands since the last three commits or longer; None while it rises."""
    grouped = by_commit(files)
    tops = [highest(grouped.get(commit.snapshot_id, ())) for commit in commits]
    before = [top for top in tops[:-_STUCK_AFTER] if top is not None]
    after = tops[-_STUCK_AFTER:]
    newest = {commit.snapshot_id for commit in commits[-_STUCK_AFTER:]}
    if not before or len(after) < _STUCK_AFTER or any(f.is_ahead and f.snapshot_id in newest for f in files):
        return None
    return max(before) if all(top is None or top <= max(before) for top in after) else None


def _broken(finding: FreshnessFinding) -> list[str]:
    """What is not as promised, each a clause."""
    broken = []
    if finding.promised_s is not None and (finding.event_age_s or 0) > finding.promised_s:
        allowed = lasting(finding.promised_s)
        broken.append(f"the newest event is {lasting(finding.event_age_s or 0)} old, the contract promises {allowed}")
    age = finding.commit_age_s or 0
    cadence = finding.promised_cadence_s
    old = f"the newest commit with rows is {lasting(age)} old, the contract promises"
    if cadence is not None and age > CADENCE_SLACK * cadence:
        broken.append(f"{old} one every {lasting(cadence)}")
    elif finding.promised_s is not None and finding.event_age_s is None and age > finding.promised_s:
        broken.append(f"{old} {lasting(finding.promised_s)}")
    if finding.is_event_time_stuck:
        stands = f"{finding.stuck_at:%Y-%m-%d %H:%M:%S} UTC"
        broken.append(f"the last {_STUCK_AFTER} commits with rows brought no event newer than {stands}")
    return broken


def _ages(finding: FreshnessFinding) -> str:
    event = "" if finding.event_age_s is None else f" and the newest event {lasting(finding.event_age_s)}"
    return f"The newest commit with rows is {lasting(finding.commit_age_s or 0)} old{event}"


def _measures(finding: FreshnessFinding) -> tuple[Measure, ...]:
    told = (
        ("age of the newest commit", finding.commit_age_s),
        ("age of the newest event", finding.event_age_s),
        ("promised freshness", finding.promised_s),
        ("promised cadence", finding.promised_cadence_s),
    )
    return tuple(Measure(name=name, value=round(value, 3), unit="seconds") for name, value in told if value is not None)


def _row(commit: Snapshot, files: Sequence[Timed]) -> tuple[str, ...]:
    top = highest(files)
    return (
        short(commit.snapshot_id),
        f"{commit.committed_at:%Y-%m-%d %H:%M:%S}",
        commit.engine,
        str(commit.counted("added-records")),
        cell(None if top is None else moment(top)),
    )


def _age(now: datetime, then: datetime) -> float:
    return (now - then).total_seconds()


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()


def _doubtful(commits: Sequence[Snapshot]) -> NotSeen:
    """For want of event times nothing tells whether the newest of them, which overwrites, brought rows."""
    return mixes(commits)[-1]
