"""A preview that was left open: what it promises by the clock is held against the moment at which it is submitted."""

from datetime import datetime, timedelta

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.domain.approval_times import NO_GROUPS
from bot.domain.entries import NoticeQueued, NoticesPreviewed
from bot.domain.errors import Refused
from bot.domain.notice import BackfillData, Notice, NoticeData
from bot.service.sending_rules import refuse_overdue, sent_or_held
from tests.decisions import BEN
from tests.telling.conftest import Scene

POLICY = ApprovalPolicy(users=(BEN,))
HALF_AN_HOUR = timedelta(minutes=30)


def notice(kind: str, data: NoticeData) -> Notice:
    """To one consumer."""
    return Notice(kind=kind, revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="x", data=data)


def shown(scene: Scene, kind: str = "update", **told: object) -> tuple[Notice, datetime]:
    """(notice, when it was previewed). Without a time of its own it promises the next word in half an hour."""
    at = scene.story.now + timedelta(minutes=1)
    data = NoticeData.model_validate({"stage": "investigating", "next_word_at": at + HALF_AN_HOUR, **told})
    made = notice(kind, data)
    scene.story.says(NoticesPreviewed(name="seen", notices=(made,)))
    return made, at


@pytest.mark.parametrize("policy", [None, POLICY])
@pytest.mark.parametrize(
    ("minutes", "said"), [(0, None), (19.9, None), (20, "nearly due"), (29.9, "nearly due"), (30, "over"), (99, "over")]
)
def test_a_next_word_that_is_nearly_due_is_not_promised(
    scene: Scene, policy: ApprovalPolicy | None, minutes: float, said: str | None
) -> None:
    """The form was left open over lunch; a third of the time is left at least, or a new preview is asked for."""
    made, at = shown(scene)
    now = at + timedelta(minutes=minutes)

    if said is None:
        assert (
            len(
                sent_or_held(scene.story.incident, "seen", (made,), policy, None, by=BEN, membership=NO_GROUPS, now=now)
            )
            == 1
        )
    else:
        with pytest.raises(Refused, match=rf"the next update by .* UTC, which is {said}\. Preview it again\. Nothing"):
            sent_or_held(scene.story.incident, "seen", (made,), policy, None, by=BEN, membership=NO_GROUPS, now=now)


def test_other_times_that_have_come_are_not_told(scene: Scene) -> None:
    """The end of planned work, and until when a backfill can be approved; one minute before they still are."""
    at = scene.story.now + timedelta(minutes=11)
    work, _ = shown(scene, "planned_work", next_word_at=None, over_by=at)
    rows, _ = shown(scene, "backfill_coming", next_word_at=None, backfill=BackfillData(progress="waits", approve_by=at))

    for made, said in ((work, "the work is over by"), (rows, "approval is possible until")):
        refuse_overdue(scene.story.incident, "seen", (made,), at - timedelta(minutes=1))

        with pytest.raises(Refused, match=f"{said} .*, which has passed"):
            refuse_overdue(scene.story.incident, "seen", (made,), at)


def test_a_second_click_on_what_was_sent_in_time_is_no_new_notice(scene: Scene) -> None:
    """Nothing is refused, for nothing is sent."""
    made, at = shown(scene)
    scene.story.says(NoticeQueued(notice=made))

    assert (
        sent_or_held(
            scene.story.incident, "seen", (made,), None, None, by=BEN, membership=NO_GROUPS, now=at + timedelta(hours=2)
        )
        == []
    )
