"""What does not arrive is tried again by rule, given up aloud, and holds up nothing else."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import pytest

from bot.adapters.notify import Smtp, Webhook
from bot.domain.entries import Body, DeliveryTried
from bot.domain.errors import CouldNotKeep
from bot.domain.ids import IncidentId
from bot.domain.journal import Entry
from bot.domain.notice import Address
from bot.domain.told import MOST_TRIES
from bot.ports import Journal
from tests.decisions import ANA
from tests.telling.conftest import SECRETS, Scene
from tests.telling.receivers import dripping


class Leaving:
    """A record that is away from its N-th append on."""

    def __init__(self, journal: Journal, at: int) -> None:
        self._journal = journal
        self._left = at - 1

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        """See the port."""
        if self._left == 0:
            raise CouldNotKeep("The record is away.", "", "Try again.")
        self._left -= 1
        return self._journal.append(incident, after_seq, bodies, by=by, at=at)

    def __getattr__(self, name: str) -> object:
        return getattr(self._journal, name)


def test_what_does_not_arrive_is_tried_again_later_under_the_same_id(scene: Scene) -> None:
    """Busy now, taken later; the other ways do not wait for it."""
    key = scene.queues(scene.mail(), Address(by="webhook", to=scene.hook.url))
    scene.hook.answers = [(503, {}), (200, {})]

    due = scene.delivers()
    assert due == scene.clock.at + timedelta(seconds=10)
    delayed = scene.story.incident.notices[key].deliveries[f"webhook:{scene.hook.url}"].delayed
    assert delayed is not None
    assert "HTTP 503" in delayed.problem
    assert len(scene.box.mails) == 1
    scene.clock.at = due
    scene.delivers()

    ids = {headers["webhook-id"] for headers, _body in scene.hook.requests}
    assert (len(scene.hook.requests), len(ids)) == (2, 1)
    assert scene.story.incident.notices[key].unreached == ()


def test_after_the_last_try_the_responder_is_asked_to_call(scene: Scene) -> None:
    """A mail server that stays away is given up by rule, aloud."""
    key = scene.queues(scene.mail())
    tries = 0

    while (due := scene.delivers(is_up=False)) is not None:
        tries += 1
        scene.clock.at = due

    [lost] = scene.story.incident.notices[key].unreached
    assert tries + 1 == MOST_TRIES
    assert lost.ended is not None
    assert lost.ended.asks == ANA
    assert f"Tried {MOST_TRIES} times" in lost.ended.detail


@pytest.mark.parametrize(("said", "is_final"), [("550 no such mailbox", True), ("451 come back later", False)])
def test_a_refusal_for_good_is_not_tried_again(scene: Scene, said: str, is_final: bool) -> None:
    """A mailbox that is not there will not be there in a minute."""
    key = scene.queues(scene.mail())
    scene.box.refuses = said

    due = scene.delivers()

    assert (due is None) is is_final
    assert (len(scene.story.incident.notices[key].unreached) == 1) is is_final


def test_a_defect_of_ours_is_tried_again_by_rule_and_said(scene: Scene) -> None:
    """An error that nobody foresaw waits like any other, and is not repeated at each look."""
    key = scene.queues(scene.mail("revenue@acme.example\nBcc: all@acme.example"))

    due = scene.delivers()
    again = scene.delivers()

    [delivery] = scene.story.incident.notices[key].deliveries.values()
    assert due == again == scene.clock.at + timedelta(seconds=10)
    assert delivery.delayed is not None
    assert "A defect of ours: ValueError" in delivery.delayed.problem
    assert scene.box.mails == []


def test_what_cannot_be_brought_for_one_incident_holds_up_no_other(scene: Scene) -> None:
    """The thread goes on with the others, and comes back to it."""
    courier = scene.courier()
    courier._alone_with = broken

    due = courier._guarded(scene.story.id)

    assert due is not None
    assert due > scene.clock.at


def broken(_name: str) -> AbstractContextManager[bool]:
    """A lock that cannot be had."""
    raise OSError("no lock")


def test_a_try_that_was_cut_short_may_have_arrived(scene: Scene) -> None:
    """The intent without an end is all that a crash leaves; it is not taken for a failure."""
    key = scene.queues(scene.mail())
    scene.story.says(DeliveryTried(key=key, to=scene.mail().key, number=1))

    scene.delivers()

    [mail] = scene.box.mails
    ended = scene.story.incident.notices[key].deliveries[scene.mail().key].ended
    assert "may have come twice" in str(mail)
    assert ended is not None
    assert "It may have arrived twice" in ended.detail


def test_one_incident_with_many_ways_leaves_every_other_its_turns(scene: Scene) -> None:
    """A way that does not answer takes its time at each try: after each, the next incident is looked at."""
    key = scene.queues(scene.mail(), Address(by="webhook", to=scene.hook.url))
    courier = scene.courier()

    turns = [courier._guarded(scene.story.id) for _ in range(3)]

    assert turns == [scene.clock.now(), scene.clock.now(), None]
    tried = [e.body.to for e in scene.story.incident.entries if isinstance(e.body, DeliveryTried)]
    assert tried == ["email:revenue@acme.example", f"webhook:{scene.hook.url}"]
    assert scene.story.incident.notices[key].ended is not None


@pytest.mark.parametrize(
    ("begins", "has_arrived"), [(b"HTTP/1.1 200 OK\r\n\r\n", True), (b"HTTP/1.1 200 OK\r\nX-Slow: ", False)]
)
def test_a_receiver_that_drips_its_answer_holds_nothing_up(scene: Scene, begins: bytes, has_arrived: bool) -> None:
    """The status code is enough; where the headers have no end, the whole try has one."""
    scene.webhook = Webhook(SECRETS, limit_s=0.4)
    with dripping(begins) as url:
        key = scene.queues(Address(by="webhook", to=url))
        began = time.monotonic()
        scene.delivers()

    [way] = scene.story.incident.notices[key].deliveries.values()
    assert time.monotonic() - began < 10
    assert has_arrived is (way.ended is not None)
    assert has_arrived is not way.may_be_there


def test_a_mail_server_that_drips_its_greeting_holds_nothing_up(scene: Scene) -> None:
    """Its time limit is one of the whole try, not of each byte."""
    key = scene.queues(scene.mail())
    courier = scene.courier()
    with dripping(b"220-", is_first=True) as url:
        port = urlsplit(url).port or 0
        courier._carriers = {"email": Smtp("127.0.0.1", port, "w@acme.example", security="none", limit_s=0.4)}
        began = time.monotonic()
        courier.deliver_due(scene.story.id)

    assert time.monotonic() - began < 10
    assert scene.story.incident.notices[key].deliveries[scene.mail().key].delayed is not None


def test_consumers_whose_names_look_alike_have_a_file_each(scene: Scene) -> None:
    """Characters that a file's name must not have are replaced; the second one must not take the first one's place."""
    to_folder = Address(by="file", to=str(scene.folder / "told"))
    for consumer in ("orders daily", "orders-daily"):
        scene.queues(to_folder, consumer=consumer)

    scene.delivers()
    scene.delivers()

    assert 2 == len(list((scene.folder / "told").iterdir()))
