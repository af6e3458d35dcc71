"""Which notices hold no more: something newer was said to the same consumer, or what they say is not so any more, by
this incident or by what others know of the table."""

from bot.incident.delivery import DeliveryView, NoticeView
from bot.incident.entries import DeliveryTried, NoticeEnded
from bot.incident.incident import Incident
from bot.incident.notice import ALL_CLEAR, HOW_TO_CORRECT, KINDS, NOT_OF_ROWS, PLANNED, WARNS, Notice
from bot.incident.trust_claims import ALONE, ConcurrentDoubts, refuse_comfort_in_doubt
from bot.incident.waterline import last_taken_back
from bot.observation.errors import Refused
from bot.service.notices.rules import refuse_false_comfort

_OF_THE_TABLE = KINDS.keys() - NOT_OF_ROWS
_TOLD_OVER = ALL_CLEAR | {"correction"}
"""These say of the whole table how it stands, what was wrong, and what is to be done: they end what came before. Facts
of a newer one count, and a correction repeats the words of those before it that have not come."""
_SO_FAR = (PLANNED, "warning", "update")
"""Each ends those before it: what is wrong is said of more than the planned work, and an update has the cause."""


def still_holds(incident: Incident, view: NoticeView, around: ConcurrentDoubts = ALONE) -> bool:
    """Whether the text of a notice still holds, as far as is said what others know of the table."""
    try:
        refuse_now(incident, view, around)
    except Refused:
        return False
    return True


def tried_or_ended(
    incident: Incident, key: str, to: str, number: int, around: ConcurrentDoubts
) -> DeliveryTried | NoticeEnded:
    """The intent of try `number` of one way, or its end where the notice was overtaken while it waited."""
    view = incident.notices[key]
    return overtaken(incident, view, view.deliveries[to], around) or DeliveryTried(key=key, to=to, number=number)


def overtaken(incident: Incident, view: NoticeView, way: DeliveryView, around: ConcurrentDoubts) -> NoticeEnded | None:
    """The end of one way of a notice that holds no more, or not while the table is in doubt; None: it still holds.

    What something newer overtakes needs nobody. An all-clear that falls into a doubt does: the responder is asked."""
    try:
        _refuse_said_since(incident, view)
    except Refused as newer:
        return _given_up(view, way, newer)
    kind = view.notice.kind
    command = f"/waterline notify {'recovered' if kind == PLANNED else kind}"
    try:
        _refuse_untrue_comfort(incident, view)
        command = "/waterline notify again"
        refuse_comfort_in_doubt(view.notice, around)
    except Refused as doubt:
        only_this = f" {view.notice.consumer}" if command.endswith("again") else ""
        end = _given_up(view, way, doubt, f" When that is resolved: {command}{only_this}.")
        return end.model_copy(update={"asks": incident.responder})
    return None


def _given_up(view: NoticeView, way: DeliveryView, why: Refused, later: str = "") -> NoticeEnded:
    there = way.may_be_there
    detail = f"{why.happened} {why.found}{' It may have arrived all the same.' if there else ''}{later}"
    return NoticeEnded(key=view.key, how="overtaken", detail=detail, to=way.address.key, may_be_there=there)


def refuse_now(incident: Incident, view: NoticeView, around: ConcurrentDoubts) -> None:
    """Raises Refused where it is outdated, or somebody else has the table in doubt that it calls trusted."""
    refuse_outdated(incident, view)
    refuse_comfort_in_doubt(view.notice, around)


def refuse_outdated(incident: Incident, view: NoticeView) -> None:
    """Raises Refused where something newer was said, the incident has ended, or an all-clear was taken back."""
    _refuse_said_since(incident, view)
    _refuse_untrue_comfort(incident, view)


def _refuse_said_since(incident: Incident, view: NoticeView) -> None:
    notice = view.notice
    newer = [
        each for each in incident.notices.values() if each.seq > view.seq and each.notice.consumer == notice.consumer
    ]
    said = next((each for each in reversed(newer) if overtakes(each, view)), None)
    if said is not None:
        raise Refused(
            f"{notice.consumer} was sent something newer than this notice.",
            f"“{said.notice.title or said.notice.kind}” followed, so this one is out of date.",
            "If the newer one did not arrive, send that again. Nothing was sent.",
        )
    if _is_for_now(notice) and not incident.is_open:
        raise Refused(
            f"Incident {incident.id} is closed.",
            "This notice describes the open incident.",
            f"To notify consumers, type {HOW_TO_CORRECT}. Nothing was sent.",
        )


def said_better(incident: Incident, notice: Notice, after: int | None) -> Notice | None:
    """The all-clear or correction that this consumer was told after entry `after`, where the notice is of the table as
    well; None: none was, or nobody knows since when."""
    if after is None or notice.kind not in _OF_THE_TABLE:
        return None
    told = (view for view in incident.notices.values() if view.notice.consumer == notice.consumer)
    since = (v.notice for v in told if v.seq > after and v.notice.kind in _OF_THE_TABLE)
    return next((each for each in since if not _is_for_now(each)), None)


def _is_for_now(notice: Notice) -> bool:
    return notice.kind in WARNS or (notice.kind == PLANNED and not notice.ends_work)


def cleared(incident: Incident) -> frozenset[str]:
    """Consumers who were told that they may read the table as usual; it arrived, or will, and still holds: nobody has
    corrected it since, but in details of a table that is proven."""
    last = {
        view.notice.consumer: view
        for view in incident.notices.values()
        if view.notice.kind in ALL_CLEAR or (view.notice.kind == "correction" and not _is_of_proven(view))
    }
    return frozenset(name for name, view in last.items() if _is_comfort(incident, view))


def _is_of_proven(view: NoticeView) -> bool:
    return view.notice.data is not None and view.notice.data.stage == "proven"


def _is_comfort(incident: Incident, view: NoticeView) -> bool:
    try:
        _refuse_untrue_comfort(incident, view)
    except Refused:
        return False
    return view.notice.kind in ALL_CLEAR and not view.was_overtaken


def _refuse_untrue_comfort(incident: Incident, view: NoticeView) -> None:
    kind, again = view.notice.kind, last_taken_back(incident)
    refuse_false_comfort(incident, kind)
    if kind in ALL_CLEAR and again is not None and view.seq < again.seq:
        raise Refused(
            "This all-clear is out of date.",
            "It was written before the table came under review again.",
            f"Preview it again: /waterline notify {kind}. Nothing was sent.",
        )


def overtakes(newer: NoticeView, older: NoticeView) -> bool:
    """Whether nobody needs to hear the older one after the newer one; both of one consumer. Whatever else a team sends
    ends by its own kind alone."""
    new, old = newer.notice.kind, older.notice.kind
    if new == old or (new in _TOLD_OVER and old in _OF_THE_TABLE):
        return True
    return new in _SO_FAR and old in _SO_FAR[: _SO_FAR.index(new)]
