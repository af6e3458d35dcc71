"""The table of moves: what each act does in each state; every other move is refused, with its reason."""

from collections.abc import Callable

import pytest

from bot.incident import entries as e
from bot.incident.decisions import (
    Act,
    Approve,
    Begin,
    BreakGlass,
    NotAllowed,
    Reject,
    ResolveUnknown,
    Supersede,
    Tick,
    Veto,
    Why,
)
from bot.incident.execution import ProposalState
from bot.incident.journal import WATERLINE
from tests.approval.desk import BEN, CLEO, DANA, EVE, HELD, MOVES, Desk, S


def _approved(desk: Desk) -> None:
    desk.does(Approve(digest=desk.proposal.digest), BEN)


def _held(desk: Desk) -> None:
    desk.starts_anew(HELD)
    _approved(desk)


def _begun(desk: Desk) -> None:
    _approved(desk)
    desk.does(Begin(), BEN)


def _ended(outcome: str) -> Callable[[Desk], None]:
    def come(desk: Desk) -> None:
        _begun(desk)
        body = {"proposal": desk.proposal.id, "outcome": outcome, "sentence": "It ended."}
        desk.writes(e.ExecutionEnded.model_validate(body), by=WATERLINE)

    return come


COMES_TO: dict[ProposalState, Callable[[Desk], object]] = {
    S.PROPOSED: lambda _desk: None,
    S.HELD: _held,
    S.APPROVED: _approved,
    S.EXECUTING: _begun,
    S.APPLIED: _ended("applied"),
    S.REFUSED: _ended("refused"),
    S.UNKNOWN: _ended("unknown"),
    S.REJECTED: lambda desk: desk.does(Reject(reason="Ask the owners."), BEN),
    S.VETOED: lambda desk: desk.does(Veto(reason="Month end."), DANA),
    S.EXPIRED: lambda desk: desk.after(minutes=30).does(Tick(), WATERLINE),
    S.SUPERSEDED: lambda desk: desk.does(Supersede(reason="Spark committed."), WATERLINE),
}
"""How a proposal comes to each state."""
ACTS: dict[str, tuple[Callable[[Desk], Act], str]] = {
    "approve": (lambda desk: Approve(digest=desk.proposal.digest), CLEO),
    "break-glass": (lambda desk: BreakGlass(digest=desk.proposal.digest, reason="Nobody answers."), EVE),
    "reject": (lambda _desk: Reject(reason="Not now."), CLEO),
    "veto": (lambda _desk: Veto(reason="Month end."), DANA),
    "begin": (lambda _desk: Begin(), BEN),
    "settle: it happened": (lambda _desk: ResolveUnknown(index=0, happened=True, reason="It is gone."), CLEO),
    "settle: it did not": (lambda _desk: ResolveUnknown(index=0, happened=False, reason="It still writes."), CLEO),
    "supersede": (lambda _desk: Supersede(reason="The head has moved."), WATERLINE),
    "expire": (lambda _desk: Tick(), WATERLINE),
    "tick": (lambda _desk: Tick(), WATERLINE),
}
"""Each act, by somebody who may do it."""
_STOP: dict[str, ProposalState | Why] = {
    "reject": S.REJECTED, "veto": S.VETOED, "supersede": S.SUPERSEDED, "expire": S.EXPIRED,
}  # fmt: skip
_NOTHING: dict[str, ProposalState | Why] = dict.fromkeys(ACTS, "begun")
_OVER: dict[str, ProposalState | Why] = dict.fromkeys(ACTS, "decided")
_SETTLES = [act for act in ACTS if act.startswith("settle")]
_NOT_BEGUN: dict[ProposalState, Why] = {S.PROPOSED: "undecided", S.HELD: "held", S.APPROVED: "decided"}
TABLE: dict[ProposalState, dict[str, ProposalState | Why]] = {
    S.PROPOSED: _STOP | {"approve": S.APPROVED, "break-glass": S.APPROVED, "begin": "undecided", "tick": "not-due"},
    S.HELD: _STOP | {"approve": "held", "break-glass": S.APPROVED, "begin": "held", "tick": "not-due"},
    S.APPROVED: _STOP | {"approve": "decided", "break-glass": "decided", "begin": S.EXECUTING, "tick": "not-due"},
    S.EXECUTING: _NOTHING,
    S.APPLIED: _NOTHING,
    S.REFUSED: _NOTHING,
    S.UNKNOWN: _NOTHING | {"settle: it happened": S.EXECUTING, "settle: it did not": S.REFUSED},
    S.REJECTED: _OVER,
    S.VETOED: _OVER,
    S.EXPIRED: _OVER,
    S.SUPERSEDED: _OVER,
}
"""State, act -> the state after it, or why it is refused."""
for _state, _why in _NOT_BEGUN.items():
    TABLE[_state] = TABLE[_state] | dict.fromkeys(_SETTLES, _why)


def desk_at(state: ProposalState) -> Desk:
    """A proposal that has come to this state."""
    desk = Desk()
    COMES_TO[state](desk)
    assert desk.state is state
    return desk


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("state", S)
def test_each_act_in_each_state(state: ProposalState, act: str) -> None:
    """What is in the table happens; everything else is refused with its reason, and nothing is written."""
    desk = desk_at(state)
    build, by = ACTS[act]
    if act == "expire":
        desk.after(minutes=30)
    written = len(desk.entries)

    decided = desk.does(build(desk), by)

    expected = TABLE[state][act]
    if isinstance(expected, ProposalState):
        assert expected is desk.state
    else:
        assert isinstance(decided, NotAllowed)
        assert (expected, written, state) == (decided.why, len(desk.entries), desk.state)
        assert decided.happened.endswith(".")


def test_the_table_of_moves_is_what_the_acts_do() -> None:
    """`MOVES` allows what some act does, or what an execution and the end of a hold bring, and nothing else."""
    done = {state: {to for to in row.values() if isinstance(to, ProposalState)} for state, row in TABLE.items()}
    done[S.PROPOSED] |= {S.HELD}
    done[S.EXECUTING] |= {S.APPLIED, S.REFUSED, S.UNKNOWN}
    done[S.UNKNOWN] |= {S.APPLIED, S.REFUSED}

    assert MOVES == done


@pytest.mark.parametrize("state", [S.REJECTED, S.VETOED, S.EXPIRED, S.SUPERSEDED])
def test_whoever_comes_too_late_hears_who_ended_it_and_why(state: ProposalState) -> None:
    """Three parts: what became of it and when, why, and what to do."""
    desk = desk_at(state)
    ended = desk.view.ended

    refused = desk.does(Approve(digest=desk.proposal.digest), CLEO)

    assert isinstance(refused, NotAllowed)
    assert f"was {state.value}" in refused.happened
    assert "UTC" in refused.happened
    assert ended.reason == refused.found
    assert refused.remedy == "Propose it again if it is still needed."


def test_the_click_after_the_last_approval_hears_who_approved() -> None:
    """The second of two people who click at once."""
    refused = desk_at(S.APPROVED).does(Approve(digest="-"), CLEO)

    assert isinstance(refused, NotAllowed)
    assert f"is approved already. It was approved by <@{BEN}> at 09:00 UTC." in refused.happened
