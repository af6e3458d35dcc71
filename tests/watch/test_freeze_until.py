"""Whoever freezes maintenance may say until when: then somebody is asked for the thaw, not after eight hours."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.errors import Refused
from bot.domain.freezes import said_end
from tests import orders_table as orders
from tests.slack.people import Responder
from tests.watch.promised import ONE, comes
from tests.watch.test_forgotten_freezes import asked_to_thaw
from tests.watch.watching_bot import WatchingBot

NOW = datetime(2026, 11, 3, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "after"),
    [
        ("until 18:00", timedelta(hours=8)),
        ("until 09:00", timedelta(hours=23)),
        ("until 2026-11-04 12:30", timedelta(days=1, hours=2, minutes=30)),
        ("6h", timedelta(hours=6)),
        ("for 90 m", timedelta(minutes=90)),
        ("UNTIL 18:00", timedelta(hours=8)),
        ("18:00 UTC", timedelta(hours=8)),
        ("until 2026-11-04 12:30 utc", timedelta(days=1, hours=2, minutes=30)),
        ("6 hours", timedelta(hours=6)),
        ("1 Hour", timedelta(hours=1)),
        ("30 min", timedelta(minutes=30)),
        ("2 days", timedelta(days=2)),
        ("sales.orders until 18:00", timedelta(hours=8)),
    ],
)
def test_an_end_is_a_time_or_a_length(typed: str, after: timedelta) -> None:
    """The next such time of day, in UTC."""
    assert said_end(typed, NOW, orders.TABLE) == NOW + after


@pytest.mark.parametrize("typed", ["  ", "until", "Until ", "for", "sales.orders", "Sales.Orders until"])
def test_without_an_end_nothing_is_said(typed: str) -> None:
    """Then it is asked after the usual time; the table's own name is no end."""
    assert said_end(typed, NOW, orders.TABLE) is None


@pytest.mark.parametrize("typed", ["until friday", "until 2026-11-02 10:00", "8d", "0h", "until 2027-11-03 10:00"])
def test_what_is_no_time_or_too_far_away_freezes_nothing(typed: str) -> None:
    """A table that grows for weeks is asked about before."""
    with pytest.raises(Refused, match=r"^Nothing was frozen\. Expected an end"):
        said_end(typed, NOW, orders.TABLE)


@pytest.mark.parametrize("typed", ["the nightly expiry", "sales.refunds", "forever"])
def test_words_that_name_no_end_are_named_with_what_would(typed: str) -> None:
    """Who types them believes the table safe."""
    with pytest.raises(Refused) as refused:
        said_end(typed, NOW, orders.TABLE)

    assert str(refused.value) == (
        f"Nothing was frozen. Expected an end such as 18:00, 6h or 2026-11-24 14:10 (in UTC); found “{typed}”. "
        "Type /waterline freeze alone, or with one of these."
    )


def test_the_thaw_is_asked_for_by_the_end_that_was_said(ana: Responder, bot: WatchingBot) -> None:
    """It is on record, may be said anew while the freeze lasts, and then goes on day by day."""
    ana.opens()
    frozen = ana.asks("freeze 2h")
    comes(bot, 119)
    early = asked_to_thaw(bot)
    comes(bot, 2)
    due = asked_to_thaw(bot)
    told = ana.sees("paused for 2 h").plain
    again = ana.asks("freeze 3h")
    comes(bot, 178)
    before = asked_to_thaw(bot)
    comes(bot, 3)

    assert "Waterline asks at" in frozen
    assert (early, due, before, asked_to_thaw(bot)) == (0, 1, 1, 2)
    assert "planned end" in told
    assert "is already frozen by wl-1. Waterline asks at" in again
    until = bot.services.store.get(ONE).frozen_until
    assert until is not None
    assert until <= bot.clock.now()
