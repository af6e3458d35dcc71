"""Whether a consumer must run again, and what it then computes anew: times, partitions, from which snapshot. Pure."""

from typing import assert_never

from bot.domain.contract import HIDDEN
from bot.domain.ids import SnapshotId
from bot.domain.incident import Incident
from bot.domain.notice import PLANNED
from bot.domain.record import Utc
from bot.domain.table import TableState
from bot.notices.extent import Rerun
from bot.notices.facts import Affected, Damage, Stage
from bot.notices.reading import ManyReaders, NotObserved, ReadAbove, ReadersUnknown, Reading, ReadThrough

_CALLS_NOTHING_WRONG = {PLANNED, "no_action_needed"}
_NOTHING = Rerun(
    needed=None, from_snapshot=None, resume_after=None, event_from=None, event_until=None, partitions=()
)  # fmt: skip


def rerun_of(
    kind: str, stage: Stage, reading: Reading, affected: Affected | None, damage: Damage, *, incident: Incident,
    table: TableState, trusted: SnapshotId | None,
) -> Rerun:  # fmt: skip
    """Before the table is proven nobody is asked to run again, and nothing is said of from where. `trusted`: the
    newest snapshot that is proven, also by a later incident."""
    if kind in _CALLS_NOTHING_WRONG:
        return _NOTHING.model_copy(update={"needed": False})
    if stage != "proven":
        return _NOTHING
    needed = _is_needed(reading, affected)
    if needed is False or affected is None:
        return _NOTHING.model_copy(update={"needed": needed})
    good = _last_good(incident, table) if affected.taken_back else None
    since, until = _times(affected, damage)
    return Rerun(
        needed=needed,
        from_snapshot=good,
        resume_after=trusted if good is None else None,
        event_from=since,
        event_until=until,
        partitions=_partitions(affected) if not damage.missing_positions else (),
    )


def _is_needed(reading: Reading, affected: Affected | None) -> bool | None:
    match reading:
        case ReadAbove() | ReadThrough():
            return True
        case NotObserved():
            return False if reading.runs_seen or affected is None else None
        case ManyReaders() | ReadersUnknown():
            return False if affected is None else None
        case _:
            assert_never(reading)


def _last_good(incident: Incident, table: TableState) -> SnapshotId | None:
    """The newest commit of main that was there before the fault: a rewind may go back below what was trusted."""
    line = table.ancestors(incident.believed_good)
    return next((s.snapshot_id for s in line if s.snapshot_id in table.chain_ids), None)


def _partitions(affected: Affected) -> tuple[str, ...]:
    """Without what a hidden column says: the others alone are more than what is to be computed again, never less."""
    return tuple(each for each in affected.partitions if not each.endswith(HIDDEN))


def _times(affected: Affected, damage: Damage) -> tuple[Utc | None, Utc | None]:
    """Of what was wrong and of what was missing; nothing unless both are wholly known."""
    if affected.events_untold or affected.event_from is None or affected.event_until is None:
        return None, None
    if not damage.missing_positions:
        return affected.event_from, affected.event_until
    if damage.missing_from is None or damage.missing_until is None:
        return None, None
    return min(affected.event_from, damage.missing_from), max(affected.event_until, damage.missing_until)
