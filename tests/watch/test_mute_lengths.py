"""For how long a table can be muted, as people type it."""

from tests.slack.people import Responder
from tests.tables import ORDERS
from tests.watch.watching_bot import WatchingBot

LENGTHS = ("0h", "0000m", "-4h", "NaNh", "infd", "1e9d", "8d", "9999d", "99999999999999999999d", "4")


def test_a_mute_for_no_time_or_too_long_is_refused_with_what_is_allowed(ana: Responder, bot: WatchingBot) -> None:
    """It would be said to hold until now; what an earlier one silences stays silent."""
    ana.asks("mute sales.orders 4h")

    for length in LENGTHS:
        answer = ana.asks(f"mute sales.orders {length}")

        assert "7d" in answer or "7 days" in answer, length
        assert "is muted until" not in answer, length
    assert len(bot.sightings.muted(ORDERS)) == 1
