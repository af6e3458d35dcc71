"""The people of the experiment look for buttons that the bot has, and an act that never succeeds is noticed."""

from random import Random
from types import SimpleNamespace

from slack_sdk.models.blocks import ActionsBlock

from bot.domain.execution import ProposalState
from bot.domain.fold import fold
from bot.slack.blocks.proposal import proposal_message
from tests.approval.desk import Desk
from tests.chaos.people import APPROVE, EXECUTE, REJECT, Crowd

RANDOM = Random(1)  # noqa: S311 - a seed that can be given again


class Person:
    """Sees one proposal with these buttons; remembers what they did."""

    has_modal = False

    def __init__(self, *buttons: str) -> None:
        self.did: list[str] = []
        shown = " · proposed by "
        self._proposal = SimpleNamespace(plain=shown, buttons=buttons)

    def messages(self, _channel: str) -> list[SimpleNamespace]:
        """One."""
        return [self._proposal]

    def clicks(self, label: str, _place: object) -> None:
        """A button."""
        self.did.append(label)

    def fills_reason(self, reason: str) -> None:
        """The form."""
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
