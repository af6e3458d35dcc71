"""Killed in the middle of a send, whichever way it goes: nothing is lost, and what may be there twice says so."""

import json
from pathlib import Path

import pytest

from bot.domain.entries import WaterlineMoved
from bot.domain.notice import Address, sending_key
from tests import orders_table as orders
from tests.decisions import ANA
from tests.telling.conftest import Scene, retrying_of
from tests.telling.killed_courier import is_killed_while_it_delivers

BEFORE, AFTER = 1, -2
"""Right after the intent is on record, before anything is sent; right after it was sent, before that is on record."""


def dies(scene: Scene, cut: int) -> None:
    """A courier of its own process delivers, and is killed at this append."""
    url = f"sqlite:///{scene.folder / 'record.db'}"
    assert is_killed_while_it_delivers(url, scene.box.port, scene.story.id, scene.clock.at, cut)


def is_delivered(scene: Scene, key: str) -> bool:
    """Whether the record says so of each way, once."""
    ends = [delivery.ended for delivery in scene.story.incident.notices[key].deliveries.values()]
    return all(end is not None and end.how == "delivered" for end in ends)


@pytest.mark.parametrize(("cut", "mails"), [(BEFORE, 1), (AFTER, 2)])
def test_a_mail_comes_and_twice_only_under_one_id_and_marked(scene: Scene, cut: int, mails: int) -> None:
    """Mailboxes that know the Message-ID keep one."""
    key = scene.queues(scene.mail())
    dies(scene, cut)

    scene.delivers()
    scene.delivers()

    assert is_delivered(scene, key)
    assert (len(scene.box.mails), len({mail["Message-ID"] for mail in scene.box.mails})) == (mails, 1)
    assert "may have come twice" in str(scene.box.mails[-1])


@pytest.mark.parametrize(("cut", "posts"), [(BEFORE, 1), (AFTER, 2)])
def test_a_webhook_is_called_and_twice_only_under_one_id_and_marked(scene: Scene, cut: int, posts: int) -> None:
    """A receiver that counts each `webhook-id` once acts once; the body says that it may be a repetition."""
    address = Address(by="webhook", to=scene.hook.url)
    key = scene.queues(address)
    dies(scene, cut)

    scene.delivers()
    scene.delivers()

    ids = {headers["webhook-id"] for headers, _body in scene.hook.requests}
    bodies = [json.loads(body) for _headers, body in scene.hook.requests]
    assert is_delivered(scene, key)
    assert (len(scene.hook.requests), ids) == (posts, {sending_key(key, address.key)})
    assert [body["may_be_repeated"] for body in bodies] == [False, True][-posts:]
    assert {body["id"] for body in bodies} == ids
    assert len({body["markdown"] for body in bodies}) == 1


@pytest.mark.parametrize("cut", [BEFORE, AFTER])
def test_a_file_is_there_once_and_whole(scene: Scene, cut: int) -> None:
    """Written again it is the same file; nothing unfinished is left beside it."""
    folder = scene.folder / "told"
    key = scene.queues(Address(by="file", to=str(folder)))
    dies(scene, cut)
    left = texts(folder)

    scene.delivers()
    scene.delivers()

    assert is_delivered(scene, key)
    assert len(left) == (0 if cut == BEFORE else 1)
    [text] = texts(folder)
    assert "sales.orders is under review" in text
    assert left in ([], [text])


def texts(folder: Path) -> list[str]:
    """Of every file there, hidden ones too."""
    return [file.read_text(encoding="utf-8") for file in folder.iterdir()] if folder.exists() else []


@pytest.mark.parametrize(("cut", "posts"), [(BEFORE, 1), (AFTER, 2)])
def test_what_is_tried_again_is_as_safe_as_the_first_time(scene: Scene, cut: int, posts: int) -> None:
    """It had failed for good, somebody mended it and asked, and the power was cut."""
    scene.story.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    key = scene.queues(Address(by="webhook", to=scene.hook.url))
    scene.hook.answers = [(410, {})]
    scene.delivers()
    scene.hook.answers, refused = [(200, {})], len(scene.hook.requests)
    retrying = retrying_of(scene)
    retrying.retry(scene.story.id, scene.story.incident.notices[key].seq, 0, by=ANA)
    dies(scene, cut)

    scene.delivers()
    scene.delivers()

    ids = {headers["webhook-id"] for headers, _body in scene.hook.requests}
    assert is_delivered(scene, key)
    assert (refused, len(scene.hook.requests) - refused, len(ids)) == (1, posts, 1)


def test_of_several_ways_those_that_were_told_are_not_told_again(scene: Scene) -> None:
    """Killed while the second is being told: the first stays as it was, the third is told after the start."""
    key = scene.queues(
        scene.mail(), Address(by="webhook", to=scene.hook.url), Address(by="file", to=str(scene.folder / "told"))
    )
    dies(scene, 3)

    scene.delivers()

    assert is_delivered(scene, key)
    assert (len(scene.box.mails), len(scene.hook.requests), len(texts(scene.folder / "told"))) == (1, 1, 1)
