"""Closing by button says as much as closing by command."""

from bot.domain.ids import IncidentId
from bot.slack.ids import Form
from bot.slack.requests import Submitted
from bot.slack.submits import Submits
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually

WL = IncidentId("wl-1")


def test_who_closes_with_the_button_hears_that_the_table_stays_under_review(ana: Responder, bot: LittleBot) -> None:
    """Nothing was proven, so readers are still kept away."""
    ana.opens()
    eventually(lambda: bot.services.store.get(WL).waterline is not None)
    form = Submitted(user=ana.id, form=Form.CLOSE, about=f"{WL}/C0", values={"reason": "A test."}, trigger="t")

    answer = Submits(bot.services, None, None).handle(form)  # type: ignore[arg-type]

    assert answer == "wl-1 is closed. The table stays under review: it is not verified."
