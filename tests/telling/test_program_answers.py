"""What a program answers in the body of its response is taken, or stands on record as what could not be taken."""

from typing import Any

import pytest

from bot.domain.entries import NoticeQueued
from bot.domain.notice import Address
from bot.domain.told import NoticeView
from bot.slack.blocks.told import told_blocks
from bot.slack.limits import fit
from tests.telling.conftest import Scene


def _answered(scene: Scene, body: dict[str, Any]) -> NoticeView:
    key = scene.queues(Address(by="webhook", to=scene.hook.url), consumer="fraud_agent")
    scene.hook.answers = [(200, body)]
    scene.delivers()
    return scene.story.incident.notices[key]


@pytest.mark.parametrize("text", [{}, {"text": None}, {"text": "  "}])
def test_a_call_for_help_counts_without_words(scene: Scene, text: dict[str, Any]) -> None:
    """A program cannot be asked to write a sentence; whoever responds is asked to help all the same."""
    [answer] = _answered(scene, {"answer": "needs-help", **text}).answers

    assert ("needs-help", "(no words given)", "fraud_agent") == (answer.answer, answer.text, answer.by)


def test_long_words_are_cut_where_everybody_sees_it(scene: Scene) -> None:
    """The call counts; how much was said stands beside what is kept."""
    [answer] = _answered(scene, {"answer": "needs-help", "text": "x" * 1200}).answers

    assert len(answer.text) == 1000
    assert answer.text.endswith("x… (1,200 characters)")


@pytest.mark.parametrize("word", ["re_ran", "Re-Ran", " re ran "])
def test_an_answer_is_known_however_its_words_are_joined(scene: Scene, word: str) -> None:
    """What can be meant in one way only is taken so."""
    view = _answered(scene, {"answer": word, "text": 3})

    assert [("re-ran", "3")] == [(each.answer, each.text) for each in view.answers]
    assert [""] == [each.ended.unread for each in view.deliveries.values() if each.ended]


@pytest.mark.parametrize("word", ["help!!", 7, ["needs-help"]])
def test_an_answer_that_cannot_be_read_is_on_record_and_on_the_card(scene: Scene, word: object) -> None:
    """Nobody can tell whether it was a call for help: whoever responds reads it."""
    view = _answered(scene, {"answer": word, "text": "revenue stands still"})

    [delivery] = view.deliveries.values()
    card = str(fit(told_blocks(scene.story.incident, None)))
    assert (view.answers, delivery.ended and delivery.ended.how) == ([], "delivered")
    assert delivery.ended is not None
    assert "which is none of acknowledged, re-ran and needs-help" in delivery.ended.detail
    assert "revenue stands still" in card


@pytest.mark.parametrize("body", [{}, {"ok": True}, {"answer": None, "text": "thanks"}])
def test_a_receiver_need_not_say_anything(scene: Scene, body: dict[str, Any]) -> None:
    """Most say something of their own."""
    view = _answered(scene, body)

    assert ([], [""]) == (list(view.answers), [each.ended.unread for each in view.deliveries.values() if each.ended])


def test_an_answer_that_the_notice_does_not_ask_for_is_on_record(scene: Scene) -> None:
    """What is refused is said to have been made."""
    key = scene.queues(Address(by="webhook", to=scene.hook.url), consumer="fraud_agent")
    view = scene.story.incident.notices[key]
    asked = view.notice.model_copy(update={"answers": ("acknowledged",), "revision": 2})
    scene.story.says(NoticeQueued(notice=asked))
    scene.hook.answers = [(200, {"answer": "needs-help"})]

    scene.delivers()

    [ended] = [each.ended for each in scene.story.incident.notices[asked.key(scene.story.id)].deliveries.values()]
    assert ended is not None
    assert "It answered needs-help, which was not taken: This notice does not ask for that." in ended.detail
