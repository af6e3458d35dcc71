"""What the younger messages are made from, each text that comes from outside an attack."""

from copy import copy
from dataclasses import replace
from typing import Any

from bot.domain.approval import ApprovalPolicy, People
from bot.domain.contract import TableContract
from bot.domain.ids import SnapshotId, TableName, UserId
from bot.domain.incident import Incident
from bot.domain.journal import Entry
from bot.domain.notice import Notice
from bot.domain.notice_entries import NoticeEnded, NoticesHeld
from bot.domain.notice_fold import HeldView
from bot.domain.reads import Consumer, Untold
from bot.domain.setup import TableSetup
from bot.domain.told import AnswerView
from bot.domain.watch import Ended, Looked, Muted, Sighted, Sign
from bot.service.sightings import Sight
from tests.orders_table import NINE
from tests.security.poisoned import poisoned_record

ANA, BEN = UserId("U0ANA00001"), UserId("U0BEN00002")


def own_facts(incident: Incident, attack: str) -> dict[str, dict[str, list[Any]]]:
    """What a message of this name is made from, where its parameters mean something else than in the others. The text
    of a notice is the bot's own, rendered (`test_no_notice_is_spoofed` has those)."""
    return {
        "finding_message": {"sight": _sights(incident, attack), "mention": [People(users=(ANA,)), People()]},
        "notice_message": {"view": _answered(incident, attack)},
        "held_message": {"view": _held(incident, attack)},
        "card_message": {"setup": _setups(attack)},
        "sending_view": _texts(incident, attack),
        "given_up_message": _given_up(incident, attack),
    }


def _given_up(incident: Incident, attack: str) -> dict[str, list[Any]]:
    """The incident after its first notice was given up for such a reason."""
    if not incident.notices:
        return {"incident": [], "first": []}
    seq, key = len(incident.entries) + 1, next(iter(incident.notices))
    why = NoticeEnded(key=key, to="slack:C0X", how="overtaken", detail=attack, doubt=attack, command=attack, asks=ANA)
    entry = Entry(incident_id=incident.id, seq=seq, at=NINE, by=ANA, body=why, prev_hash="", hash="")
    after = copy(incident)
    after.entries = [*incident.entries, entry]
    return {"incident": [after], "first": [seq]}


def _texts(incident: Incident, attack: str) -> dict[str, list[Any]]:
    """Pages of the notices of a preview; their text is the bot's own, rendered."""
    notices = [view.notice.model_copy(update={"text": "Recovered."}) for view in incident.notices.values()]
    if not notices:
        return {"ids": [], "notices": [], "page": [], "untold": []}
    others = [each.model_copy(update={"consumer": f"{attack}{n}"}) for n, each in enumerate(notices * 20)]
    untold = [(), (Untold(name=attack, why=attack),)]
    return {"ids": [(incident.id, "", "held", "C0X")], "notices": [notices, others], "page": [0, 1], "untold": untold}


def _setups(attack: str) -> list[TableSetup | None]:
    """A table of which consumers and channels are declared under such names, and one that is configured no more."""
    known = TableSetup(
        name=TableName("sales.orders"), job=None, contract=TableContract(), policies={}, next_update_minutes=30,
        consumers=(Consumer(name="c", channel="C0X").model_copy(update={"name": attack}),),
        untold=(Untold(name=attack, why=attack),),
    )  # fmt: skip
    return [known, None]


def _sights(incident: Incident, attack: str) -> list[Sight]:
    sign = Sign(
        code="F2", subject="x", headline="h", reasons=("r", "s"), advice="a", severity="sev1", runbook="duplicate-rows",
        is_urgent=True, rows=(SnapshotId(7),), last_good=SnapshotId(6), also=("F3: o",), source="s", link="https://x",
    )  # fmt: skip
    table = TableName("sales.orders")
    sighted = poisoned_record(Sighted(id="abc", table=table, channel="C0ORDERS01", sign=sign, at=NINE), attack)
    ended = poisoned_record(Ended(sighting="abc", table=table, at=NINE, why="w"), attack)
    looked = poisoned_record(Looked(sighting="abc", table=table, at=NINE, facts=("f", "g")), attack)
    muted = Muted(id="m", table=table, until=NINE, by=ANA, at=NINE)
    return [
        Sight(sighted, None, None, None, looked),
        Sight(sighted, ended, None, incident),
        Sight(sighted, None, muted, incident),
    ]


def _answered(incident: Incident, attack: str) -> list[Any]:
    answer = AnswerView(answer="needs-help", text=attack, by=attack, at=NINE)
    return [
        replace(view, notice=view.notice.model_copy(update={"text": "Recovered."}), answers=[answer])
        for view in incident.notices.values()
    ]


def _held(incident: Incident, attack: str) -> list[HeldView]:
    notice = poisoned_record(
        Notice(kind="recovered", revision=1, consumer="c", channel="C0X", text="t", title="t"), attack
    )
    incident.previews["held"] = (notice.model_copy(update={"text": "Recovered."}),)
    held = NoticesHeld(name="held", policy=ApprovalPolicy(users=(BEN,)), step=None)
    waiting = HeldView(name="held", held=held, asked_by=ANA, asked_at=NINE)
    return [waiting, replace(waiting, sent_by=BEN)]
