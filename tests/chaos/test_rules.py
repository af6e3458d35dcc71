"""What the experiment counts and says: its rules, its people, the table's history, and how soon the bot was back."""

import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from slack_sdk.models.blocks import ActionsBlock

from bot.incident.execution import ProposalState
from bot.incident.incident import fold
from bot.observation.table import REPAIR
from bot.slack.blocks.proposal import proposal_message
from tests.approval.desk import Desk
from tests.chaos import deeds, invariants, spoiling
from tests.chaos.experiment import Figures
from tests.chaos.people import APPROVE, EXECUTE, REJECT, Crowd, Typed
from tests.chaos.seen import Seen
from tests.chaos.table_history import TableHistory, table_history
from tests.tables import OrdersTable, rows

P, Q = "01JBQ5M7Z3T9K4X8V2N6R0PWAB", "01JBQ5M7Z3T9K4X8V2N6R0PWAC"
STARTED = ("execution-started", {"proposal": P})
APPLIED = ("execution-ended", {"proposal": P, "outcome": "applied"})
APPROVED = ("proposal-approved", {"proposal": P, "complete": True})
SUPERSEDED = ("proposal-ended", {"proposal": P, "how": "superseded"})
NOTE = ("note-added", {"text": "remark 1"})
QUEUED = ("notice-queued", {"notice": {}})
ENDED = ("notice-ended", {"key": "wl-1/recovered/1"})
OPENED = ("incident-opened", {})


def made(*kinds: str, proposal: str = P, **said: object):  # type: ignore[no-untyped-def]
    """A proposal with effects of these kinds, all of which say this."""
    effects = [{"kind": kind, "branch": "recovery-wl-1", "drop_branch": True, **said} for kind in kinds]
    return ("proposal-made", {"proposal": {"id": proposal, "action": "the_action", "effects": effects}})


def done(index: int = 0, proposal: str = P):  # type: ignore[no-untyped-def]
    """An effect of it ended as done."""
    return ("effect-ended", {"proposal": proposal, "index": index, "how": "done"})


def verified(*passed: bool | None):  # type: ignore[no-untyped-def]
    """The proof of it, with so many checks."""
    checks = [{"name": "No duplicate rows", "passed": each, "sentence": "As told."} for each in passed]
    return ("verified", {"proposal": P, "passed": all(passed), "checks": checks})


REWIND, REHEARSAL = made("stop-job", "move-table", "start-job"), made("make-branch", "change-files")
PUBLICATION, GIVEN_UP = made("publish-branch", "start-job"), made("drop-branch", proposal=Q)
KEPT = made("publish-branch", drop_branch=False)


def seen(*entries, notes=(), calls=(), inbox=(), outbox=(), messages=(), table=None, checkpoints=(1,)):  # type: ignore[no-untyped-def]
    """What would be found in a world with these rows, calls, messages and this table."""
    conversations = SimpleNamespace(in_channel=lambda _channel: iter(messages))
    slack = SimpleNamespace(world=SimpleNamespace(conversations=conversations))
    found = Seen(Path(), slack, "", tuple(notes), tuple(checkpoints))  # type: ignore[arg-type]
    found.__dict__["journal"] = [
        {"kind": kind, "body": body, "incident_id": f"wl-{n}"} for n, (kind, body) in enumerate(entries)
    ]
    found.__dict__.update({"calls": [list(each) for each in calls], "inbox": list(inbox), "outbox": list(outbox)})
    found.__dict__["table"] = table or history()
    return found


def history(*heads: int, repairs=None, branches=((),), positions=range(10)):  # type: ignore[no-untyped-def]
    """Of a table whose main was at these snapshots."""
    beside = tuple(frozenset(each) for each in branches)
    return TableHistory(heads, repairs or {}, beside, Counter(positions), commits=len(heads))


def post(key: str, state: str = "sent"):  # type: ignore[no-untyped-def]
    """A row of the outbox."""
    return {"key": key, "state": state, "channel": "C1", "recipient": None, "tries": 1, "problem": None}


def message(key: str, text: str = "hello"):  # type: ignore[no-untyped-def]
    """A message in Slack."""
    return SimpleNamespace(metadata={"event_payload": {"key": key}}, blocks=[{"text": text}])


STOP, START = ("stop", "aa"), ("start", "bb")
BRANCH = ("recovery-wl-1",)
ASKED = ("evidence-requested", {"run": "R1", "task": "ledger"})
DELIVERY = {"key": "click-1", "state": "taken", "attempts": 3, "problem": None}
BROKEN = [
    ("_notes", seen(NOTE, NOTE, notes=[Typed("remark 1", acked=True)]), "written 2 times"),
    ("_notes", seen(notes=[Typed("remark 1", acked=True)]), "is not in the record"),
    ("_executions", seen(STARTED, STARTED, APPLIED), "was started 2 times"),
    ("_executions", seen(STARTED), "ended 0 times"),
    ("_approvals", seen(APPROVED), "neither carried out nor ended"),
    ("_effects", seen(REWIND, done(), done()), "ended as done 2 times"),
    ("_effects", seen(REWIND, done(0), done(2), APPLIED), "effect 1 (move-table) is not done"),
    ("_runs", seen(REWIND, done(0), done(2), calls=[STOP, STOP, START]), "stop of run aa was done 2 times"),
    ("_runs", seen(REWIND, done(0), done(2), calls=[STOP]), "tells of 1 starts, and Flink carried out 0"),
    ("_runs", seen(REWIND, done(0), calls=[STOP, START]), "tells of 0 starts, and Flink carried out 1"),
    ("_moves", seen(REWIND, done(1), table=history(1, 2, 3)), "main went back 0 times"),
    ("_moves", seen(PUBLICATION, done(0), table=history(1, 2, 1)), "0 rewinds were carried out, and main went back 1"),
    ("_moves", seen(REHEARSAL, table=history(1, 2, repairs={2: "m"})), "0 repairs were published, and main went to 1"),
    ("_moves", seen(PUBLICATION, done(0), table=history(1)), "1 repairs were published, and main went to 0"),
    ("_repairs", seen(REHEARSAL, done(1), table=history(repairs={2: "m", 3: "m"})), "repair m was made 2 times"),
    ("_repairs", seen(REHEARSAL, done(1)), "tells of 1 changes of files, and the table has 0"),
    ("_branches", seen(REHEARSAL, done(0), table=history(branches=[BRANCH, (), BRANCH, ()])), "was begun 2 times"),
    ("_branches", seen(REHEARSAL, table=history(branches=[(), BRANCH, ()])), "has had ['recovery-wl-1']"),
    ("_branches", seen(REHEARSAL, done(0), table=history(branches=[BRANCH])), "branch recovery-wl-1 is left"),
    ("_proofs", seen(REHEARSAL, APPLIED), "was applied and never proven"),
    ("_proofs", seen(REHEARSAL, APPLIED, verified(None)), "was applied and never proven"),
    ("_proofs", seen(REHEARSAL, APPLIED, verified(False), verified(True)), "failed: No duplicate rows: As told."),
    ("_positions", seen(checkpoints=[1, 1]), "2 runs are alive"),
    ("_positions", seen(table=history(positions=range(1, 10))), "1 positions are missing, 0"),
    ("_positions", seen(table=history(positions=[*range(10), 3])), "0 positions are missing, 1"),
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
    ("_approvals", seen(APPROVED, SUPERSEDED)),
    ("_effects", seen(PUBLICATION, done(0), done(1), APPLIED)),
    ("_runs", seen(REWIND, done(0), done(2), calls=[STOP, START])),
    ("_runs", seen(PUBLICATION, done(1), calls=[START])),
    ("_moves", seen(REWIND, done(1), table=history(1, 2, 1, 3))),
    ("_moves", seen(PUBLICATION, done(0), table=history(1, 2, 3, repairs={2: "m"}))),
    ("_repairs", seen(REHEARSAL, done(1), table=history(repairs={2: "m"}))),
    ("_branches", seen(REHEARSAL, done(0), table=history(branches=[(), BRANCH, BRANCH, ()]))),
    ("_branches", seen(KEPT, done(0), made("make-branch", proposal=Q), done(0, Q), table=history(branches=[BRANCH]))),
    ("_proofs", seen(REHEARSAL, APPLIED, verified(None), verified(True))),
    ("_proofs", seen(REHEARSAL, APPLIED, GIVEN_UP, done(0, Q))),
    ("_positions", seen()),
    ("_incidents_one_at_a_time", seen(OPENED)),
    ("_work_ended", seen(inbox=[{**DELIVERY, "state": "done"}], outbox=[post("a")])),
    ("_answered", seen(ASKED, ("evidence-ended", {"run": "R1"}))),
    ("_messages", seen(outbox=[post("a")], messages=[message("a"), message("a", "It counts once: a")])),
    ("_notices", seen(QUEUED, ENDED)),
]


@pytest.mark.parametrize(("rule", "world", "said"), BROKEN)
def test_a_broken_rule_is_seen(rule: str, world: Seen, said: str) -> None:
    """One sentence that says what was found."""
    found = list(rule_named(rule)(world))

    assert len(found) >= 1
    assert any(said in sentence for sentence in found)


@pytest.mark.parametrize(("rule", "world"), WHOLE)
def test_a_whole_world_breaks_no_rule(rule: str, world: Seen) -> None:
    """What is allowed, such as a repetition that says so, is no violation."""
    assert list(rule_named(rule)(world)) == []


def test_approvals_are_told_by_how_they_ended() -> None:
    """One that was superseded was not carried out, and one without an end is open."""
    other = ("proposal-approved", {"proposal": Q, "complete": True})
    one_of_two = ("proposal-approved", {"proposal": Q, "complete": False})

    assert {"applied": 1, "open": 1} == seen(APPROVED, APPLIED, other).approvals
    assert {"superseded": 1} == seen(APPROVED, SUPERSEDED, one_of_two).approvals


def rule_named(name: str) -> Callable[[Seen], Iterator[str]]:
    """Of those of the record, or of the deeds."""
    found: Callable[[Seen], Iterator[str]] = getattr(invariants, name, None) or getattr(deeds, name)
    return found


RANDOM = Random(1)  # noqa: S311 - a seed that can be given again


class Person:
    """Sees one proposal with these buttons; remembers what they did."""

    has_modal = False

    def __init__(self, *buttons: str) -> None:
        self.did: list[str] = []
        shown = " · proposed by "
        self._proposal = SimpleNamespace(plain=shown, buttons=buttons)

    def messages(self, _channel: str) -> list[SimpleNamespace]:
        return [self._proposal]

    def clicks(self, label: str, _place: object) -> None:
        self.did.append(label)

    def fills_reason(self, reason: str) -> None:
        self.did.append(reason)


def crowd() -> Crowd:
    """Nobody is in Slack."""
    person = SimpleNamespace(person=SimpleNamespace(id="U1"))
    slack = SimpleNamespace(url="http://127.0.0.1:9", person=lambda _name: person)
    return Crowd(slack, RANDOM, lambda _random: None)  # type: ignore[arg-type]


def labels(state: ProposalState) -> set[str]:
    """Of the buttons of a proposal in this state."""
    incident = fold(Desk().entries)
    [view] = incident.proposals.values()
    view.state = state
    rows = [block for block in proposal_message(incident, view, {})[1] if isinstance(block, ActionsBlock)]
    return {button.text.text for row in rows for button in row.elements}  # type: ignore[union-attr]


def test_the_buttons_are_there() -> None:
    """By the words that people look for."""
    assert {APPROVE, REJECT} <= labels(ProposalState.PROPOSED)
    assert {EXECUTE, REJECT} <= labels(ProposalState.APPROVED)


def test_a_rejection_fills_the_form() -> None:
    """With a reason."""
    people, ben = crowd(), Person(APPROVE, REJECT)

    assert people._rejects(ben, RANDOM)  # type: ignore[arg-type]
    assert {REJECT, "Not convinced."} == set(ben.did)


def test_an_act_that_could_never_be_done_is_named() -> None:
    """One that was done once is not."""
    people, blind, ben = crowd(), Person("Rejected"), Person(EXECUTE)
    people._does(people._executes, ben, RANDOM)  # type: ignore[arg-type]
    for _ in range(40):
        people._does(people._rejects, blind, RANDOM)  # type: ignore[arg-type]
        people._does(people._executes, blind, RANDOM)  # type: ignore[arg-type]

    assert people.never_done() == ["_rejects"]


LATE = "resumes: connected again only after 6.2 s, on an idle machine"


@pytest.mark.parametrize(
    ("starts", "said", "broken"),
    [
        pytest.param(
            [(1.0, True, True), (2.0, True, True), (6.5, True, True), (0.25, False, True)],
            "connected again after a cold start: median 2.00 s, longest 6.50 s; after a fork: median 0.25 s, longest "
            "0.25 s; later than 5 s on an idle machine: 1 of 4",
            [], id="median and longest of each kind; a cold start imports everything anew, and breaks no rule",
        ),
        pytest.param(
            [(9.0, True, False)],
            "connected again after a cold start: median 9.00 s, longest 9.00 s; after a fork: none; later than 5 s on "
            "an idle machine: none was tried",
            [], id="on a busy machine they tell of the others' work",
        ),
        pytest.param(
            [(5.0, False, True), (9.0, False, False), (6.25, False, True)],
            "connected again after a cold start: none; after a fork: median 6.25 s, longest 9.00 s; later than 5 s on "
            "an idle machine: 1 of 2",
            [LATE], id="five seconds are the promise, after a fork on an idle machine",
        ),
    ],
)  # fmt: skip
def test_how_soon_the_bot_was_back(starts: list[tuple[float, bool, bool]], said: str, broken: list[str]) -> None:
    """Each start: seconds, whether it was cold, whether the machine was idle; the report says the same."""
    figures = Figures()
    for took_s, is_cold, is_idle in starts:
        figures.resumes.add(took_s, is_cold=is_cold, is_idle=is_idle)

    assert figures.resumes.told() == said
    assert f"0 violations; {said}" in figures.told()
    assert figures.resumes.violations() == broken


def test_moves_repairs_and_branches_are_seen(tmp_path: Path) -> None:
    """A branch that was begun twice and dropped twice leaves none behind, and is counted."""
    orders = OrdersTable(tmp_path)
    first = orders.commits("a", 1, range(10))
    second = orders.commits("a", 2, range(10, 20))
    table = orders.catalog.load_table("sales.orders")
    for _ in range(2):
        table.manage_snapshots().create_branch(second, "recovery-wl-1").commit()
        table.manage_snapshots().remove_branch("recovery-wl-1").commit()
    table.append(rows(range(20, 30)), snapshot_properties={REPAIR: "P/2"})
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    orders.close()

    seen = table_history(tmp_path)

    assert Counter({"recovery-wl-1": 2}) == seen.made
    assert frozenset() == seen.left
    assert ["P/2"] == list(seen.repairs.values())
    assert (1, 1, 3) == (seen.went_back, seen.published, seen.commits)
    assert Counter(range(10)) == seen.positions


def test_a_catalog_that_is_held_lets_nobody_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nobody else holds it then; afterwards it is free."""
    OrdersTable(tmp_path).close()
    told: list[str] = []

    def meanwhile(_seconds: float) -> None:
        with closing(sqlite3.connect(tmp_path / "catalog.db", timeout=0)) as other, pytest.raises(sqlite3.Error) as why:
            other.execute("UPDATE iceberg_tables SET metadata_location = 'elsewhere'")
        told.append(str(why.value))
        spoiling.hold_catalog(tmp_path, random.Random(1))  # noqa: S311 - held already: at once

    monkeypatch.setattr(spoiling.time, "sleep", meanwhile)
    monkeypatch.setattr(spoiling, "_PATIENCE_S", 0.0)
    spoiling.hold_catalog(tmp_path, random.Random(1))  # noqa: S311 - a seed that can be given again

    assert ["database is locked"] == told
    with closing(sqlite3.connect(tmp_path / "catalog.db", timeout=0)) as free:
        free.execute("BEGIN EXCLUSIVE")
