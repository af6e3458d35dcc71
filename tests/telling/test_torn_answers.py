"""An answer with half a character in it, or with a defect of ours, ends the delivery: nobody is told again for ever."""

import pytest

from bot.domain.notice import Address
from bot.service.answering import Answering
from tests.telling.conftest import Scene

_HALF = "\ud83d"
"""JSON can name it; no text can hold it."""


@pytest.mark.parametrize(
    ("body", "answers", "unread"),
    [
        ({"answer": "needs-help", "text": f"x {_HALF}"}, ["x \ufffd"], ""),
        ({"answer": f"help {_HALF}", "text": f"x {_HALF}"}, [], "It answered “help \ufffd”, with the words “x \ufffd”"),
        ({"answer": "needs-help", "text": [_HALF]}, ['["\\ud83d"]'], ""),
    ],
    ids=["in its words", "in its answer", "in what is no text"],
)
def test_half_a_character_is_shown_as_one_that_cannot_be_read(
    scene: Scene, body: dict[str, object], answers: list[str], unread: str
) -> None:
    """It is told once, and what was said is on record."""
    key = scene.queues(Address(by="webhook", to=scene.hook.url), consumer="fraud_agent")
    scene.hook.answers = [(200, body)]

    scene.delivers()

    view = scene.story.incident.notices[key]
    [delivery] = view.deliveries.values()
    assert delivery.ended is not None
    assert (delivery.ended.how, [answer.text for answer in view.answers]) == ("delivered", answers)
    assert delivery.ended.unread.startswith(unread)


def test_a_defect_while_its_answer_is_taken_ends_the_delivery(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It arrived; that its answer was not taken stands on record."""

    def breaks(*_args: object, **_named: object) -> str:
        raise RuntimeError("not foreseen")

    monkeypatch.setattr(Answering, "answer", breaks)
    key = scene.queues(Address(by="webhook", to=scene.hook.url), consumer="fraud_agent")
    scene.hook.answers = [(200, {"answer": "needs-help"})]

    scene.delivers()

    [delivery] = scene.story.incident.notices[key].deliveries.values()
    assert delivery.ended is not None
    assert delivery.ended.how == "delivered"
    assert "was not taken: a defect of ours, RuntimeError" in delivery.ended.unread
