"""What people type behind “propose”: an action, what they choose for it as `name=value`, and a reason."""

import re

from bot.domain.errors import Refused
from bot.domain.record import Record
from bot.domain.replay_bounds import NAMES

_CHOICE = re.compile(rf"\s*(?:keep=([0-9a-fA-F]{{4,32}})|(drop_others)=(yes)|({'|'.join(NAMES)})=(\S+))(?=\s|$)")


class TypedProposal(Record):
    """One request, taken apart."""

    action: str
    """Empty where none is named."""
    keeps: str
    """The first digits of the run that is to stay, in lower case; empty where none is named."""
    drops_others: bool = False
    """Whether rows of other writers may go: `drop_others=yes`."""
    bounds: dict[str, str]
    """Name -> value, as typed: `positions` -> `1200..1500`."""
    reason: str


def typed_proposal(text: str) -> TypedProposal:
    """Choices stand between action and reason. Raises Refused for one that is named twice."""
    action, _, rest = text.strip().partition(" ")
    chosen: dict[str, str] = {}
    while (found := _CHOICE.match(rest)) is not None:
        name, value = ("keep", found[1].lower()) if found[1] else (found[2] or found[4], found[3] or found[5])
        if name in chosen:
            raise Refused(
                f"`{name}=` is named twice.",
                f"Expected one; found {chosen[name]} and {value}.",
                "Leave one of them out.",
            )
        chosen[name] = value
        rest = rest[found.end() :]
    return TypedProposal(
        action=action,
        keeps=chosen.pop("keep", ""),
        drops_others=chosen.pop("drop_others", "") == "yes",
        bounds=chosen,
        reason=rest.strip(),
    )
