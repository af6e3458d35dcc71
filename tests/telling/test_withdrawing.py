"""An all-clear does not outlive the proof that it rests on."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import NoticeEnded, NoticeQueued, NoticesPreviewed, WaterlineMoved
from bot.domain.errors import Refused
from bot.domain.incident import Incident
from bot.domain.notice import Address, Notice
from bot.service.outdated import cleared as told_that_all_is_well
from bot.service.sending_rules import queued
from bot.service.telling_rules import is_said_already
from tests import orders_table as orders
from tests.incidents import Story

TRUSTED = WaterlineMoved(snapshot=orders.GOOD, status="trusted")
DOUBTED = WaterlineMoved(snapshot=orders.GOOD, status="under-review")


def notice(kind: str, revision: int = 1) -> Notice:
    """To one consumer."""
    return Notice(kind=kind, revision=revision, consumer="revenue_daily", channel="C0REVENUE2", text="x")


@pytest.fixture
def cleared(tmp_path: Path) -> Iterator[Story]:
    """The table is proven, and revenue_daily knows it."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens().says(TRUSTED).says(NoticeQueued(notice=notice("recovered")))


def is_cleared_already(incident: Incident) -> bool:
    """Whether revenue_daily was told that all is well, and nothing has changed."""
    told = [view for view in incident.notices.values() if view.notice.kind == "recovered"]
    return is_said_already("recovered", told, incident)


def test_the_next_proof_is_told_as_news_and_once(cleared: Story) -> None:
    """What was said of the first one says nothing of the second."""
    said = [is_cleared_already(cleared.incident)]
    cleared.says(DOUBTED).says(TRUSTED)
    said.append(is_cleared_already(cleared.incident))
    cleared.says(NoticeQueued(notice=notice("recovered", 2)))
    said.append(is_cleared_already(cleared.incident))

    assert said == [True, False, True]


def test_an_all_clear_that_was_previewed_before_is_not_sent_after(cleared: Story) -> None:
    """What was right in the preview is wrong by the time of the click, or of the last approval."""
    late = notice("recovered").model_copy(update={"consumer": "fraud_model"})
    before = queued(cleared.incident, "9f31", (late,), None)
    cleared.says(DOUBTED)

    assert [body.kind for body in before] == ["notice-queued"]
    with pytest.raises(Refused, match="until its new state is verified"):
        queued(cleared.incident, "9f31", (late,), None)
    assert queued(cleared.incident, "9f31", (notice("recovered"),), None) == []


def test_an_all_clear_of_the_proof_before_is_not_sent_after_the_next_one(cleared: Story) -> None:
    """It names a snapshot that is trusted no more."""
    old = notice("recovered").model_copy(update={"consumer": "fraud_model"})
    cleared.says(NoticesPreviewed(name="9f31", notices=(old,))).says(DOUBTED).says(TRUSTED)
    new = old.model_copy(update={"text": "y"})
    cleared.says(NoticesPreviewed(name="a207", notices=(new,)))

    with pytest.raises(Refused, match="Preview it again"):
        queued(cleared.incident, "9f31", (old,), None)
    assert [body.kind for body in queued(cleared.incident, "a207", (new,), None)] == ["notice-queued"]


def test_an_all_clear_that_was_overtaken_may_be_given_anew(cleared: Story) -> None:
    """They never had it: it was given up while it waited, and then it was right again."""
    [view] = cleared.incident.notices.values()
    cleared.says(NoticeEnded(key=view.key, how="overtaken", detail="Evidence said otherwise."))

    assert not is_cleared_already(cleared.incident)
    assert told_that_all_is_well(cleared.incident) == frozenset()


@pytest.fixture
def two_ways(tmp_path: Path) -> Iterator[Story]:
    """revenue_daily is told by Slack and by webhook; nothing has arrived yet."""
    hook = Address(by="webhook", to="https://hooks.acme.example/x")
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        told = notice("recovered").model_copy(update={"ways": (hook,)})
        yield Story(store.journal).opens().says(TRUSTED).says(NoticeQueued(notice=told))


def ends_webhook(story: Story, *, may_be_there: bool = False) -> None:
    """A correction was quicker than the webhook's next try."""
    [view] = story.incident.notices.values()
    to = list(view.deliveries)[1]
    story.says(NoticeEnded(key=view.key, how="overtaken", detail="x", to=to, may_be_there=may_be_there))


def test_one_way_that_was_overtaken_takes_back_nothing_that_arrived(two_ways: Story) -> None:
    """They had it in Slack: no severity is told to them, and it is not said twice."""
    [view] = two_ways.incident.notices.values()
    two_ways.says(NoticeEnded(key=view.key, how="delivered", detail="ts 1"))

    ends_webhook(two_ways)

    assert is_cleared_already(two_ways.incident)
    assert told_that_all_is_well(two_ways.incident) == {"revenue_daily"}


@pytest.mark.parametrize("may_be_there", [True, False])
def test_what_may_have_arrived_counts_as_said(two_ways: Story, may_be_there: bool) -> None:
    """Of two ways, one failed and the other was overtaken: whether its answer was lost makes the difference."""
    [view] = two_ways.incident.notices.values()
    two_ways.says(NoticeEnded(key=view.key, how="failed", detail="channel_not_found"))

    ends_webhook(two_ways, may_be_there=may_be_there)

    assert is_cleared_already(two_ways.incident) is may_be_there
