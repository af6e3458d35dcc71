"""What is wrong in a form is said before it closes, so that nothing typed is lost. Imported by the front door."""

from datetime import datetime
from typing import Any

from bot.domain.asked_window import is_id
from bot.domain.errors import Refused
from bot.domain.said_moment import said_moment
from bot.slack.ids import Form
from bot.slack.requests import entered


def wrong_in(body: dict[str, Any], now: datetime) -> dict[str, str]:
    """Block id -> what is wrong with it, of a submission; as far as it can be told without a look at the world."""
    if body.get("type") != "view_submission":
        return {}
    values = entered(body["view"]["state"]["values"])
    match body["view"]["callback_id"]:
        case Form.OPEN:
            return _no_id("since", values.get("since", "").strip())
        case Form.SAVEPOINT:
            return _no_moment("over", values.get("over", "").strip(), now)
        case _:
            return {}


def _no_id(block: str, typed: str) -> dict[str, str]:
    if not typed or is_id(typed):
        return {}
    return {block: "This is not a snapshot id. Type an id or its last six digits."}


def _no_moment(block: str, typed: str, now: datetime) -> dict[str, str]:
    try:
        if typed:
            said_moment(typed, now)
    except Refused as error:
        return {block: str(error)}
    return {}
