"""Whether main may have lost commits that have expired since, with every trace but the last sequence number."""

from bot.diagnosis._case import living
from bot.domain.diagnosis import Case
from bot.domain.gone_commits import gone_since
from bot.domain.ids import SnapshotId, short
from bot.domain.sentences import counted


def may_be_lost_and_expired(case: Case, checked: SnapshotId | None) -> str | None:
    """What is missing to know that it has not; None: nothing is.

    Those below `checked` are vouched for by evidence, which would have found their positions missing. Above it nothing
    is: expiry deletes the files of what is no ancestor, so that a listing without an orphan shows nothing either. It
    may have been a branch's snapshots; the next commit that evidence covers settles it.
    """
    table = case.observation.table
    newest = table.by_id.get(checked) if checked is not None else None
    gone = gone_since(newest, table) if newest is not None else 0
    if newest is None or gone <= 0:
        return None
    them = f"{counted(gone, 'snapshot')} newer than {short(newest.snapshot_id)}"
    return (
        f"whether main had {them}, by the sequence numbers, that {'is' if gone == 1 else 'are'} listed no more: they "
        f"may have been rolled back and expired, with their files. {_what_next(case)}"
    )


def _what_next(case: Case) -> str:
    if case.observation.jobs.state == "not-seen" or living(case):
        return "Ask again when the job has committed"
    return (
        "No run is alive to commit: look who has moved main, and start the job from a restore point that carries the "
        "very checkpoint of main's newest commit (`/waterline run checkpoint_pairing` lists them); ask again then"
    )
