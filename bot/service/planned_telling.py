"""When planned work is announced, and when its end can be told."""

from datetime import datetime
from typing import assert_never

from bot.domain.errors import Refused
from bot.domain.evidence import Observation
from bot.domain.ids import short_job
from bot.domain.incident import Incident
from bot.domain.looked import NotSeen
from bot.domain.planned_end import Lack, WorkStop, counts_since, lacking, stop_for_work
from bot.domain.promises import announced_since
from bot.domain.savepoint_told import CALLED_OFF, OVER, PLANNED
from bot.domain.settling import HOW_TO_SETTLE

_NOT_OVER = "Nothing shows that the planned work is over."


def refuse_untimely(incident: Incident, kind: str) -> None:
    """Raises Refused for an end that nothing on record proves, and for work that is called off although nobody
    announced it or the job was stopped for it. Not asked again of what is on its way."""
    stop = stop_for_work(incident)
    if kind == OVER and (stop is None or counts_since(incident, stop) is None):
        raise Refused(
            _NOT_OVER,
            "The notice says that the job writes again and that the rows were counted. "
            + (
                "On record, the job was not stopped for it."
                if stop is None
                else "Both questions about the rows must have found nothing, asked after the job was stopped."
            ),
            f"Work that did not take place: /waterline tell {CALLED_OFF}. Nothing was sent."
            if stop is None
            else "Ask them again after the first commits. Nothing was sent.",
        )
    if kind == CALLED_OFF:
        _refuse_to_call_off(incident, stop)


def _refuse_to_call_off(incident: Incident, stop: WorkStop | None) -> None:
    if announced_since(incident) is None:
        raise Refused(
            "No planned work stands announced.",
            f"Nobody was told of any in {incident.id}, or they were told its end.",
            "Nothing was sent.",
        )
    if stop is None:
        return
    run = short_job(stop.run)
    over = (
        f"When the job writes again and the rows are counted: /waterline tell {OVER}. If consumers must know before "
        "that how it stands: /waterline tell update, which calls the table under review. Nothing was sent."
    )
    if stop.is_sure:
        raise Refused(
            "The job was stopped for the planned work.", f"The notice says that it was not; run {run} was.", over
        )
    raise Refused(
        "It is not known whether the job was stopped for the planned work.",
        f"The notice says that it was not; run {run} may have been.",
        f"Wait for the proposal's end. If it stays unknown: {HOW_TO_SETTLE} {over}",
    )


def refuse_unseen_end(incident: Incident, kind: str, seen: Observation) -> None:
    """Raises Refused for the announcement of work that is over, and for an end that table and job do not show: whoever
    previews it looks at them; what is sent is what was previewed."""
    if kind not in (PLANNED, OVER):
        return
    stop = stop_for_work(incident)
    counts = counts_since(incident, stop) if stop is not None else None
    if stop is None or counts is None:
        return
    lack = lacking(stop, counts, seen)
    if kind == PLANNED and lack is None and announced_since(incident) is not None:
        raise _over_already()
    if kind == OVER and lack is not None:
        raise Refused(_NOT_OVER, *_told(lack, stop, seen))


def refuse_late_announcement(incident: Incident, kind: str, previewed_at: datetime | None) -> None:
    """Raises Refused for an announcement where the rows were found right, after a stop, since it was previewed."""
    stop = stop_for_work(incident)
    counts = counts_since(incident, stop) if stop is not None else None
    if kind != PLANNED or counts is None or announced_since(incident) is None:
        return
    if previewed_at is None or max(run.requested_at for run in counts) > previewed_at:
        raise _over_already()


def _over_already() -> Refused:
    return Refused(
        "This planned work is over, as far as is known.",
        "It was announced, the job was stopped for it, and the rows were found right since.",
        f"Send “Planned work is over”: /waterline tell {OVER}. Nothing was sent.",
    )


def _told(lack: Lack, stop: WorkStop, seen: Observation) -> tuple[str, str]:
    """(what was found, what to do)."""
    run = short_job(stop.run)
    match lack:
        case "Flink":
            why = f" {seen.jobs.reason}" if isinstance(seen.jobs, NotSeen) else ""
            return (
                f"The notice says that the job writes again, and Flink could not be asked.{why}",
                "Preview it again when Flink answers. Nothing was sent.",
            )
        case "run":
            return (
                f"The notice says that the job writes again. Since run {run} was stopped, Flink shows no other run of "
                "the job with every operator running.",
                "Start the job, or wait until it runs, and count the rows after its first commits. Nothing was sent.",
            )
        case "commit":
            return (
                f"The notice says that the job writes again. It has committed nothing to main since run {run} was "
                "stopped, whoever else has.",
                "Wait for its first commit, then count the rows again. While it has nothing to commit, this can be "
                "told of a run that began from the savepoint that was kept, once it has completed a checkpoint. "
                "Nothing was sent.",
            )
        case "count":
            return (
                "The rows were counted before the job wrote again.",
                "Ask both questions about the rows again: duplicate_rows and missing_positions. Nothing was sent.",
            )
        case _:
            assert_never(lack)
