"""What people do who give the sink another uid themselves: each step, and what is lost with the old sink's state."""

from bot.actions._draft import may_lose_state
from bot.actions._points_by_hand import (
    beside_the_last,
    must_be_copied,
    point_by_hand,
    readable,
    untold_since,
    why_none,
)
from bot.actions._restore_points import RestorePoint, newest_pair
from bot.domain.action import Plan
from bot.domain.diagnosis import Case
from bot.domain.errors import Refused
from bot.domain.flink import JobRun, StoredCheckpoint
from bot.domain.guests import Guests
from bot.domain.highest_position import highest_position
from bot.domain.ids import short, short_job
from bot.domain.owed import owed_to
from bot.domain.rewinds import flink_commits

HOW = (
    "in SQL `/*+ OPTIONS('uid-suffix'='NEW') */` behind the table's name in the INSERT (V2 sink; V1 and the dynamic "
    'sink take none there), in code uidPrefix("NEW") (V1, dynamic) or uidSuffix("NEW") (V2)'
)
_WITHOUT = "with allowNonRestoredState=true and"
_SURELY_ITS_OWN = "the newest readable point that is surely the job's own and after which it has committed nothing"
_AND_SHARED = "and what it names under `shared`"
_TOGETHER = (
    "Two people do it together: freeze maintenance (`/waterline freeze`), stop the run, change the uid, start it, wait "
    "for two commits, run missing_positions and duplicate_rows again. Write each step into the thread."
)


def by_hand(plan: Plan, case: Case, live: JobRun | None, proof: str, why: str) -> Refused:
    """`case`: as `remembered` tells it. `proof`, `why`: sentences."""
    happened = f"{proof} {why}"
    stop = f"{_cancel(live)}. " if live else ""
    if Guests(case).is_untold or not readable(case):
        copy = f"Copy {_SURELY_ITS_OWN}, {_AND_SHARED}, away first. " if live and may_lose_state(live) else ""
        start = f"Start it from {_SURELY_ITS_OWN}, {_WITHOUT} {_another()} Waterline cannot tell which that is."
        return Refused(happened, f"{copy}{stop}{start}", _TOGETHER)
    point = point_by_hand(case)
    if point is not None:
        return Refused(happened, f"{_start(case, point, live)}{untold_since(case, point)}", _TOGETHER)
    none = f"from none of the points on storage: {why_none(case)}"
    if (guest := beside_the_last(case)) is not None:
        run, own = guest
        asked = (
            f"Start it {none}, if run {run}, which committed last, went on for this job. Ask who runs it what it "
            f"reads. If it reads another source: {_start(case, own, live)}"
        )
        return Refused(happened, asked, _TOGETHER)
    if (pair := _pair_to_rewind_to(plan)) is not None:
        return Refused(
            happened,
            f"Start it {none}. Rewind table and job to checkpoint {pair.checkpoint_id} instead, with which snapshot "
            f"{short(pair.snapshot_id)} pairs: the job reads those rows again, and its sink keeps its uid.",
            "Propose that: `/waterline propose rewind_table_and_job`. Until it is carried out, start nothing by hand.",
        )
    return Refused(happened, f"{stop}Start it {none}. {_without_state(case)}", _TOGETHER)


def _start(case: Case, point: StoredCheckpoint, live: JobRun | None) -> str:
    """From stopping the run to what is lost by it. A state that Flink may delete is brought away first: of what lies
    under `shared` its metadata names the very place."""
    start = f"Start it from {point.path} (checkpoint {point.checkpoint_id}) {_WITHOUT} {_another()}"
    stop = f"{_cancel(live)}. " if live else ""
    if must_be_copied(case, point, live):
        stop = f"{_cancel(live)} only then, and put back what is gone. " if live else "Put back what is gone by then. "
        stop = f"Copy {point.path}, {_AND_SHARED}, away first: Flink may delete that. {stop}"
    return f"{stop}{_again(live)}{start}{_lost(case, point)}"


def _cancel(live: JobRun) -> str:
    return f"Cancel run {short_job(live.job_id)} (no stop-with-savepoint)"


def _again(live: JobRun | None) -> str:
    """For a run that goes on until people have cancelled it, a sentence that ends with a blank."""
    if live is None:
        return ""
    return "If that run has committed anything more by then, start nothing, and propose this again. "


def _another() -> str:
    return f"another uid for the sink: {HOW}."


def _pair_to_rewind_to(plan: Plan) -> RestorePoint | None:
    """To which a rewind would go back; None where none can be proposed."""
    last_good = plan.match.last_good
    try:
        return newest_pair(plan.case, last_good) if last_good is not None else None
    except Refused:
        return None


def _without_state(case: Case) -> str:
    highest = highest_position(case)
    if highest is not None:
        after = f"position {highest}, the highest on the table"
    else:
        after = "the newest position of it that the table has, in each of its partitions"
    return (
        f"Start it without any state instead, its source set after {after}, and with {_another()} What else its state "
        "held, such as open windows, begins empty."
    )


def _lost(case: Case, point: StoredCheckpoint) -> str:
    """What is left behind with its state, a sentence; nothing where that owes nothing that is not on the table."""
    if point.is_drained:
        return " It was drained: windows and timers that were open then have fired early, and begin anew."
    table = case.observation.table
    owed = owed_to(table, point)
    commits = flink_commits(table)
    is_on_main = any(each.job_id == point.job_id and each.checkpoint_id == point.checkpoint_id for each in commits)
    if not owed or is_on_main:
        return ""
    count = "1 Flink manifest" if len(owed) == 1 else f"{len(owed)} Flink manifests"
    return (
        f" Its state still lists {count} ({owed[0]}{', …' if len(owed) > 1 else ''}) and forgets them then: rows of "
        "these that are not on the table are lost unless their files are appended afterwards (leaked_manifests)."
    )
