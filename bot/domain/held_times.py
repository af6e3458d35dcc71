"""When something about held notices falls due, by the policy that holds them. As for proposals: `approval_times`."""

from datetime import datetime

from bot.domain.notice_fold import HeldView


def promises_until(shown_at: datetime, word_by: datetime) -> datetime:
    """From then on (inclusive) a text is not sent that was made at `shown_at` and promises the next word by `word_by`:
    a third of that time is left at least, else word would be due as soon as the promise is read."""
    return shown_at + (word_by - shown_at) * 2 / 3


def expires_at(view: HeldView) -> datetime:
    """From then on (inclusive) nobody can approve: what they say may not be so any more."""
    end = view.asked_at + view.held.policy.expires_after
    return end if view.word_by is None else min(end, promises_until(view.shown_at, view.word_by))


def reminder_due_at(view: HeldView) -> datetime | None:
    """When people are to be asked again; None once it is over, and where the policy reminds nobody.

    Counted from the last reminder that was made: after a long stop there is one, not as many as were missed.
    """
    every = view.held.policy.remind_every
    if not view.is_waiting or not every:
        return None
    due = (view.reminded_at or view.asked_at) + every
    return due if due < expires_at(view) else None


def next_due_at(view: HeldView) -> datetime | None:
    """When time alone changes something about it next; None when it is over."""
    return (reminder_due_at(view) or expires_at(view)) if view.is_waiting else None
