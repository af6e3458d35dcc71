"""The rules of the experiment see what they are for: each is shown a world in which it was broken."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.chaos import invariants
from tests.chaos.invariants import Seen
from tests.chaos.people import Typed

P = "01JBQ5M7Z3T9K4X8V2N6R0PWAB"
STARTED = ("execution-started", {"proposal": P})
APPLIED = ("execution-ended", {"proposal": P, "outcome": "applied"})
APPROVED = ("proposal-approved", {"proposal": P, "complete": True})
DONE = ("effect-ended", {"proposal": P, "index": 0, "how": "done"})
NOTE = ("note-added", {"text": "remark 1"})
QUEUED = ("notice-queued", {"notice": {}})
ENDED = ("notice-ended", {"key": "wl-1/recovered/1"})
OPENED = ("incident-opened", {})


def seen(*entries, notes=(), calls=(), inbox=(), outbox=(), messages=()):  # type: ignore[no-untyped-def]
    """What would be found in a world with these rows, calls and messages."""
    conversations = SimpleNamespace(in_channel=lambda _channel: iter(messages))
    slack = SimpleNamespace(world=SimpleNamespace(conversations=conversations))
    found = Seen(Path(), slack, "", tuple(notes), (1,))  # type: ignore[arg-type]
    found.__dict__["journal"] = [
        {"kind": kind, "body": body, "incident_id": f"wl-{n}"} for n, (kind, body) in enumerate(entries)
    ]
    found.__dict__.update({"calls": [list(each) for each in calls], "inbox": list(inbox), "outbox": list(outbox)})
    return found


def post(key: str, state: str = "sent"):  # type: ignore[no-untyped-def]
    """A row of the outbox."""
    return {"key": key, "state": state, "channel": "C1", "recipient": None, "tries": 1, "problem": None}


def message(key: str, text: str = "hello"):  # type: ignore[no-untyped-def]
    """A message in Slack."""
    return SimpleNamespace(metadata={"event_payload": {"key": key}}, blocks=[{"text": text}])


STOP = ("stop", "aa")
START = ("start", "bb")
ASKED = ("evidence-requested", {"run": "R1", "task": "ledger"})
DELIVERY = {"key": "click-1", "state": "taken", "attempts": 3, "problem": None}
BROKEN = [
    ("_notes", seen(NOTE, NOTE, notes=[Typed("remark 1", acked=True)]), "written 2 times"),
    ("_notes", seen(notes=[Typed("remark 1", acked=True)]), "is not in the record"),
    ("_executions", seen(STARTED, STARTED, APPLIED), "was started 2 times"),
    ("_executions", seen(STARTED), "ended 0 times"),
    ("_approvals", seen(APPROVED), "neither carried out nor ended"),
    ("_effects", seen(STARTED, DONE, DONE, APPLIED, calls=[START]), "ended as done 2 times"),
    ("_effects", seen(STARTED, APPLIED, calls=[STOP, STOP, START]), "stop of run aa was done 2 times"),
    ("_effects", seen(STARTED, APPLIED), "0 runs were started"),
    ("_incidents_one_at_a_time", seen(OPENED, OPENED), "while wl-0 was open"),
    ("_work_ended", seen(inbox=[DELIVERY]), "is taken after 3 attempts"),
    ("_work_ended", seen(inbox=[{**DELIVERY, "state": "done", "problem": "9f: KeyError"}]), "met a defect"),
    ("_work_ended", seen(outbox=[post("wl-1/card", "queued")]), "is queued after"),
    ("_answered", seen(ASKED), "was asked for and never answered"),
    ("_messages", seen(outbox=[post("wl-1/card")]), "is sent and not there"),
    ("_messages", seen(outbox=[post("a")], messages=[message("a"), message("a")]), "not each repetition says so"),
    ("_messages", seen(outbox=[post("a")], messages=[message("a"), message("b")]), "nobody wanted it"),
    ("_notices", seen(QUEUED), "1 notices were promised"),
    ("_notices", seen(QUEUED, ENDED, ENDED), "ended 2 times"),
]  # fmt: skip
WHOLE = [
    ("_notes", seen(NOTE, notes=[Typed("remark 1", acked=True), Typed("remark 2", acked=False)])),
    ("_executions", seen(STARTED, ("execution-ended", {"proposal": P, "outcome": "unknown"}), APPLIED)),
    ("_approvals", seen(APPROVED, APPLIED)),
    ("_effects", seen(STARTED, DONE, APPLIED, calls=[STOP, START])),
    ("_incidents_one_at_a_time", seen(OPENED)),
    ("_work_ended", seen(inbox=[{**DELIVERY, "state": "done"}], outbox=[post("a")])),
    ("_answered", seen(ASKED, ("evidence-ended", {"run": "R1"}))),
    ("_messages", seen(outbox=[post("a")], messages=[message("a"), message("a", "It counts once: a")])),
    ("_notices", seen(QUEUED, ENDED)),
]


@pytest.mark.parametrize(("rule", "world", "said"), BROKEN)
def test_a_broken_rule_is_seen(rule: str, world: Seen, said: str) -> None:
    """One sentence that says what was found."""
    found = list(getattr(invariants, rule)(world))

    assert len(found) >= 1
    assert any(said in sentence for sentence in found)


@pytest.mark.parametrize(("rule", "world"), WHOLE)
def test_a_whole_world_breaks_no_rule(rule: str, world: Seen) -> None:
    """What is allowed, such as a repetition that says so, is no violation."""
    assert list(getattr(invariants, rule)(world)) == []
