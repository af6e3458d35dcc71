"""What became of a planned savepoint, in words."""

from bot.domain import savepoint_entries as e
from bot.domain.clock_time import clock_time
from bot.domain.sentences import full_stop


def savepoint_sentence(body: e.SavepointEntry) -> str:
    """One sentence or two, for the timeline."""
    match body:
        case e.SavepointPlanned():
            who = ", ".join(f"<@{user}>" for user in body.may_restore) or "whoever may carry out a proposal"
            return (
                f"A savepoint is planned, from code {body.code_before} to {body.code_after}: {full_stop(body.reason)} "
                f"Told: {', '.join(body.told) or 'nobody yet'}. Kept until {body.until:%Y-%m-%d}; restored by {who}."
                + (f" Expected to be over by {clock_time(body.over_by)}." if body.over_by else "")
            )
        case e.SavepointReleasing():
            return f"The savepoint's day has passed: its tag {body.tag} on snapshot {body.snapshot} is to be removed."
        case e.SavepointReleased():
            left = {
                "removed": f"was removed: snapshot {body.snapshot} is kept by it no longer",
                "gone": "had been removed already",
                "elsewhere": "stands on another snapshot and was left there",
            }[body.how]
            return f"The savepoint's day has passed. Its tag {body.tag} {left}."
        case e.RestoreExplained():
            return f"Starts from {body.path}, not from the authoritative {body.instead_of}: {full_stop(body.reason)}"
