"""A yes covers all that is proposed, so it comes only through a door that shows all of it."""

from bot.incident.decisions import Act, Approve, BreakGlass, NotAllowed
from bot.incident.execution import ProposalState
from tests.approval.desk import BEN, EVE, FINN, Desk


def unseen(desk: Desk) -> tuple[tuple[Act, str], ...]:
    """Ben's yes and Eve's broken glass, to what was cut."""
    digest = desk.proposal.digest
    return (
        (Approve(digest=digest, shown_whole=False), BEN),
        (BreakGlass(digest=digest, reason="It burns.", shown_whole=False), EVE),
    )


def test_no_yes_is_taken_for_what_was_cut() -> None:
    """Neither an approver's nor one alone in an emergency; each hears where it can be said."""
    desk = Desk()

    said = [desk.does(act, by) for act, by in unseen(desk)]

    assert all(isinstance(each, NotAllowed) and each.why == "not-shown-whole" for each in said)
    assert all(isinstance(each, NotAllowed) and "waterline proposal show" in each.remedy for each in said)
    assert ProposalState.PROPOSED is desk.state


def test_who_may_not_approve_hears_that_first() -> None:
    """Nobody is sent to a terminal in vain."""
    desk = Desk()

    said = [desk.does(act, FINN) for act, _by in unseen(desk)]

    assert all(isinstance(each, NotAllowed) and each.why == "not-yours" for each in said)
