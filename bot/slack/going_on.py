"""What is done again after a crash although it had written already: acts of several entries that see by themselves how
far they came. Everything else is one entry of a person, and is done when that is written."""

from bot.slack.ids import Click, Form
from bot.slack.requests import Clicked, Command, Request, Submitted

_CLICKS, _FORMS, _VERBS = frozenset({Click.KEEP_OTHER}), frozenset({Form.SAVEPOINT}), frozenset({"freeze"})


def goes_on(request: Request | None) -> bool:
    """Whether a second try goes on where the first was cut off, and does nothing twice."""
    match request:
        case Clicked():
            return request.action in _CLICKS
        case Submitted():
            return request.form in _FORMS
        case Command():
            return request.verb in _VERBS
        case _:
            return False
