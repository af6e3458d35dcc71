"""What anybody but the job committed to main in the window.

A cherry-pick keeps no Flink ids. One of a commit of the job puts the job's rows back; one of what another writer had
staged (write-audit-publish) brings that writer's change.
"""

from bot.diagnosis._case import in_window
from bot.diagnosis._compactions import lost_by
from bot.diagnosis._guests import took_as_guest
from bot.domain.diagnosis import Case
from bot.domain.guests import Guests
from bot.domain.ids import short
from bot.domain.other_writers import changes_rows_without_flink, converted_from, origin_of, picked_from
from bot.domain.table import Snapshot


def changes_without_job(case: Case) -> tuple[Snapshot, ...]:
    """Commits that changed which rows are live and carry no Flink job id, whatever they were picked from, or are of
    another Flink job and took rows off; oldest first. What an approved repair of ours led to is looked at elsewhere."""
    table, guests = case.observation.table, Guests(case)
    return tuple(
        s
        for s in in_window(case)
        if changes_rows_without_flink(table, s) or lost_by(case, s) or took_as_guest(case, guests, s)
    )


def changes_by_others(case: Case) -> tuple[Snapshot, ...]:
    """Those of them that are known to be no commit of the job put back."""
    origins = ((s, origin_of(case.observation.table, s)) for s in changes_without_job(case))
    return tuple(s for s, origin in origins if origin is not None and not _is_put_back(case, s, origin))


def _is_put_back(case: Case, snapshot: Snapshot, origin: Snapshot) -> bool:
    """Whether it is a cherry-pick of what the job, or a guest that only added rows, had committed."""
    is_pick = origin.snapshot_id != snapshot.snapshot_id
    return is_pick and origin.job_id is not None and not took_as_guest(case, Guests(case), origin)


def unknown_pick(case: Case) -> str | None:
    """What is missing to know whose change a cherry-pick brought: its source is not listed. None: nothing is."""
    table = case.observation.table
    found = next((s for s in changes_without_job(case) if origin_of(table, s) is None), None)
    if found is None:
        return None
    staged = converted_from(found)
    how = f"a cherry-pick of {short(picked_from(found))}" if staged is None else f"a conversion of {short(staged)}"
    return (
        f"whose change {short(found.snapshot_id)} ({found.operation}) brought: it is {how}, whose writer the metadata "
        "does not list any more"
    )
