"""Which posts show notices that wait for approval, or did: whenever they are asked for there are posts of their own."""

from bot.domain.entries import NoticesDecided, NoticesExpired, NoticesHeld
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.journal import Entry
from bot.domain.notice_fold import HeldView


def held_post(incident: Incident, name: str, seq: int) -> str:
    """What stands in the keys `held/…`, `held-reminder/…/n` and `held-expired/…` for the asking to which entry `seq`
    belongs: the preview's name and, from the second asking on, the number of its `NoticesHeld`.

    The first goes without it, as all did while nothing could be asked for twice: posts of a record from then are found
    under their keys, and neither an upgrade nor a replica that is not upgraded yet posts them once more.
    """
    asked = [each for each in _askings(incident, name) if each <= seq]
    return name if len(asked) == 1 else f"{name}@{asked[-1]}"


def asked_then(incident: Incident, post: str) -> tuple[Incident, HeldView]:
    """(the incident until the same was asked for again, how it stood then); `post` as `held_post` writes it. So a late
    rendering shows the end of its own asking."""
    name, _, seq = post.partition("@")
    asked = _askings(incident, name)
    later = next((each for each in asked if each > int(seq or asked[0])), None)
    then = incident if later is None else fold(incident.entries[: later - 1])
    return then, then.held[name]


def changed_by(entry: Entry, incident: Incident, post: str) -> tuple[str, ...]:
    """Keys of the posts that show something else since `entry`: decisions and ends concern the reminders, too."""
    if not isinstance(entry.body, NoticesDecided | NoticesExpired):
        return ()
    _then, view = asked_then(incident, post)
    reminders = (f"{incident.id}/held-reminder/{post}/{number}" for number in range(1, view.reminders + 1))
    return f"{incident.id}/held/{post}", *reminders


def _askings(incident: Incident, name: str) -> list[int]:
    return [each.seq for each in incident.entries if isinstance(each.body, NoticesHeld) and each.body.name == name]
