"""F24: commits come, and the events in them get no newer: a quiet source, a stuck watermark, or late data only."""

from datetime import timedelta

from bot.diagnosis._support.asked import lacking
from bot.history.case import Case
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import FreshnessFinding
from bot.observation.ids import short
from bot.observation.sentences import clock_time, span

MODE = Mode(
    code="F24",
    name="event_time_stuck",
    title="commits come, but the newest event gets no newer",
    needs=("freshness",),
    false_positives=("A source that is quiet at this hour.", "A backfill that brings old events for a while."),
    neighbours={
        "healthy": "Both can hold: the table has what the job was given, and what it was given is old.",
    },
    act=Act.NOTE,
    remedies=(Remedy.TELL_CONSUMERS, Remedy.NOTHING),
)


def examine(case: Case) -> Examined:
    """Matches on a highest event time that stands still, or is older than promised, while commits come in time.

    Consumers are to be told, unless a promise is kept all the same: a source may be quiet.
    """
    if missing := lacking(case, *MODE.needs):
        return CannotTell(missing=missing)
    found = case.freshness
    assert found is not None
    if found.event_age_s is None:
        return CannotTell(
            missing=(
                "the time of the newest event: the contract names no column for it, or no commit tells"
                if case.contract.event_time is None
                else f"the newest {case.contract.event_time}: no file of the newest commits tells it, or what came "
                "since may be newer",
            )
        )
    late = found.promised_s is not None and found.event_age_s > found.promised_s
    if not found.is_event_time_stuck and not late:
        return Excluded(reason=f"The newest event is {_span(found.event_age_s)} old{_promise(found)}.")
    if not found.is_event_time_stuck and _commits_are_late(found):
        return Excluded(
            reason=f"The newest event is {_span(found.event_age_s)} old, and so is the table: no commit has come for "
            f"{_span(found.commit_age_s or 0.0)}, which is the reason."
        )
    is_kept = found.promised_s is not None and not late
    return _matches(found, Remedy.NOTHING if is_kept else Remedy.TELL_CONSUMERS)


def _commits_are_late(found: FreshnessFinding) -> bool:
    """Whether the commits themselves stay away; with no promise, when the newest is nearly as old as its events."""
    if found.commit_age_s is None:
        return True
    allowed = found.promised_cadence_s if found.promised_cadence_s is not None else found.promised_s
    return allowed is not None and found.commit_age_s > allowed


def _matches(found: FreshnessFinding, remedy: Remedy) -> Matches:
    age = _span(found.event_age_s or 0.0)
    reasons = [f"The newest event was {age} old when the metadata was read{_promise(found)}."]
    if found.is_event_time_stuck:
        at = f" at {found.stuck_at:%Y-%m-%d %H:%M:%S} UTC" if found.stuck_at else ""
        reasons.append(f"The highest event time stands{at}, and the last three commits with rows did not raise it.")
    if found.newest_commit is not None and found.commit_age_s is not None:
        reasons.append(f"Commits come: the newest, {short(found.newest_commit)}, was {_span(found.commit_age_s)} old.")
    reasons.append("The table holds what the job was given; look at the source and at its watermark.")
    return Matches(
        headline=f"Commits come, but the newest event stands at {clock_time(found.stuck_at, seconds=True)}."
        if found.is_event_time_stuck and found.stuck_at
        else f"Commits come, but the newest event is {age} old.",
        reasons=tuple(reasons),
        rows=(found.newest_commit,) if found.newest_commit is not None else (),
        remedy=remedy,
    )


def _promise(found: FreshnessFinding) -> str:
    return "" if found.promised_s is None else f"; {_span(found.promised_s)} are promised"


def _span(seconds: float) -> str:
    """An event may lie a little in the future, by its own clock."""
    return span(timedelta(seconds=max(seconds, 0)))
