"""The message of a finding, as it is rendered: whom it wakes, and what text from outside can do in it."""

import json

import pytest

from bot.domain.approval import People
from bot.domain.watch import Ended
from bot.service.sightings import Sight
from bot.slack.blocks.watch import finding_message
from bot.slack.limits import fit
from tests.watch.signs import NINE, ORDERS, sighted, sign

pytestmark = pytest.mark.smoke

ONCALL = People(groups=("S0ONCALL01",))


def shown(sight: Sight) -> str:
    """Its blocks, as Slack gets them; the notification is escaped where every message is."""
    _text, blocks = finding_message(sight, ONCALL)
    return json.dumps(fit(blocks), ensure_ascii=False)


def test_only_what_is_urgent_and_lasts_wakes_somebody() -> None:
    """A mention in what can wait, or is over, would be heard for nothing."""
    urgent, slight = sighted(sign()), sighted(sign(urgent=False))
    over = Ended(sighting=urgent.id, table=ORDERS, at=NINE, why="Waterline does not see it any more.")

    assert "<!subteam^S0ONCALL01>" in shown(Sight(urgent, None, None, None))
    assert "<!subteam^" not in shown(Sight(slight, None, None, None))
    assert "<!subteam^" not in shown(Sight(urgent, over, None, None))


def test_nobody_is_sent_to_mend_what_is_over() -> None:
    """While it lasts it says what to do, afterwards since when it is over and nothing to do."""
    stale = sighted(sign("stale", "freshness", urgent=False))
    over = Ended(sighting=stale.id, table=ORDERS, at=NINE, why="Waterline does not see it any more.")

    lasting, ended = shown(Sight(stale, None, None, None)), shown(Sight(stale, over, None, None))

    assert "*What to do:* Rewind table and job together." in lasting
    assert "Over since" not in lasting
    assert "*Over since 09:00:00 UTC:* Waterline does not see it any more." in ended
    assert "What to do" not in ended


def test_text_of_an_alert_does_nothing_but_stand_there() -> None:
    """No mention, no link, no formatting, and a link to look at only over https."""
    evil = "<!channel> <@U0BEN00001> <https://evil.example|look> *now* `x`"
    alert = sign().model_copy(
        update={"headline": evil, "reasons": (evil, "y" * 9000), "advice": evil, "source": evil, "link": "javascript:1"}
    )

    told = shown(Sight(sighted(alert), None, None, None))

    assert "<!channel>" not in told
    assert "<@U0BEN00001>" not in told
    assert "<https://evil" not in told
    assert "javascript:" not in told
    assert len(told) < 12_000
