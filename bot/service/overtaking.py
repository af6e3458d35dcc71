"""Which notice ends which, where the older one has not arrived: a newer one that says anew what the older one was for.
Nothing else: what only the older one says would be lost to whoever waits for it."""

from bot.domain.incident import Incident
from bot.domain.notice import PLANNED
from bot.domain.told import NoticeView
from bot.domain.waterline import trust_ends
from bot.service.telling_rules import ALL_CLEAR

_PLANS = frozenset({"recovery_proposed", "backfill_coming"})
"""Of work to come, with what no other kind repeats: what is done, when, and which rows it concerns."""
_TOLD_OVER = ALL_CLEAR | {"correction"}
"""These say of the whole table how it stands, what was wrong, and what is to be done."""
_NOT_AS_PLANNED = _TOLD_OVER | {"first_warning", "update", "recovery_proposed"}
"""After these "nothing is wrong" is not so, or is said of more than the planned work."""
_ENDED_BY = {
    "first_warning": _TOLD_OVER | {"update"},  # each of them says whether the table can be relied on, and what to do
    "update": _TOLD_OVER,  # a first warning has neither the severity's change nor the cause
    "recovery_proposed": _TOLD_OVER | {"update"},  # an update only from another stage on, a correction as withdrawal
    "backfill_coming": _TOLD_OVER,  # no update has the boundary or the schedule; a correction as withdrawal
    PLANNED: _NOT_AS_PLANNED,
    "recovered": _TOLD_OVER,
    "no_action_needed": _TOLD_OVER,
    "correction": ALL_CLEAR,
}
"""Older kind -> kinds that end it, beside a newer one of its own kind: its facts count, and a correction or a changed
contract repeats the words of those before it that have not come.
What is not here (a changed contract, a review, a team's own kinds) ends by its own kind alone."""


def overtakes(incident: Incident, newer: NoticeView, older: NoticeView) -> bool:
    """Whether nobody needs to hear the older one after the newer one; both of one consumer."""
    new, old = newer.notice.kind, older.notice.kind
    if new == old:
        return True
    if new not in _ENDED_BY.get(old, frozenset()):
        return False
    if old in _PLANS and new == "correction":
        return any(older.seq < ended.seq < newer.seq for ended in trust_ends(incident))
    if old == "recovery_proposed" and new == "update":
        return _stage(newer) != _stage(older)
    return True


def _stage(view: NoticeView) -> str | None:
    return view.notice.data.stage if view.notice.data is not None else None
