"""Bounds of a replay as people type them: `positions=1200..1500 partition=0`, or `from=… until=…`.

They become values that are compared with columns, never words of a query.

What people type behind “propose”: an action, what they choose for it as `name=value`, and a reason.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from bot.domain.contract import TableContract
from bot.domain.errors import Refused
from bot.domain.record import Record
from bot.domain.replay import PositionRange, ReplayRange

NAMES = ("positions", "partition", "from", "until")
_POSITIONS = re.compile(r"(\d{1,18})(?:\.\.(\d{1,18}))?")
_HOW = (
    "Name one kind of bounds: `positions=1200..1500` (with `partition=0` where the source has partitions), or "
    "`from=2026-11-03T12:00Z until=2026-11-03T13:00Z`."
)


def bounds_of(typed: Mapping[str, str], contract: TableContract) -> ReplayRange:
    """What is meant. Raises Refused where it is not one kind of bounds, is empty, or names what the contract does not
    have or hides."""
    kinds = {"positions": "positions" in typed, "times": bool({"from", "until"} & typed.keys())}
    if kinds["positions"] and not kinds["times"]:
        return _positions(typed["positions"], typed.get("partition"), contract)
    if kinds["times"] and not kinds["positions"] and "partition" not in typed:
        return _times(typed.get("from", ""), typed.get("until", ""), contract)
    found = " ".join(f"{name}=" for name in typed) or "none"
    raise Refused("The rows to replay are unclear.", f"Expected one kind of bounds; found {found}.", _HOW)


def _positions(typed: str, partition: str | None, contract: TableContract) -> ReplayRange:
    _must_be_named("position", contract.position, contract)
    if (contract.position_partition is None) != (partition is None):
        of = contract.position_partition
        raise Refused(
            "The source partition of these positions is unclear." if of else "The source has no partitions.",
            f"Expected `partition=` with a value of {of}; found none."
            if of
            else "Expected no `partition=` beside `positions=`: the contract names no column for it.",
            "Name one partition: `positions=1200..1500 partition=0`." if of else "Leave it out.",
        )
    if partition is not None:
        _must_be_named("position_partition", contract.position_partition, contract)
    found = _POSITIONS.fullmatch(typed)
    if found is None:
        raise Refused(
            f"“{typed}” is not a range of positions.",
            "Expected whole numbers, both inclusive.",
            "Write them as `positions=1200..1500`.",
        )
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise _is_empty(f"positions {first} to {last}", "the first position first")
    return ReplayRange(positions=(PositionRange(first=first, last=last, partition=partition),))


def _times(since: str, until: str, contract: TableContract) -> ReplayRange:
    _must_be_named("event_time", contract.event_time, contract)
    first, end = _moment("from", since), _moment("until", until)
    if end <= first:
        raise _is_empty(f"from {since} until before {until}", "`until` after `from`")
    return ReplayRange(event_from=first, event_until=end)


def _moment(name: str, typed: str) -> datetime:
    try:
        moment = datetime.fromisoformat(typed)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise Refused(
            f"{name}={typed} is not a time in UTC." if typed else f"The range of times has no `{name}=`.",
            "Expected both bounds, each with its zone.",
            "Write them as `from=2026-11-03T12:00Z until=2026-11-03T13:00Z`; `until` is exclusive.",
        )
    return moment.astimezone(UTC)


def _must_be_named(what: str, column: str | None, contract: TableContract) -> None:
    if column is None:
        raise Refused(
            f"A replay cannot be bounded like this: the table's contract names no `{what}`.",
            f"Expected the column for it as `{what}`; found none.",
            "Name it in the table's contract, or choose another kind of bounds.",
        )
    if contract.hides(column):
        raise Refused(
            f"A replay cannot be bounded by {column}: its values are never shown.",
            "Expected bounds that an approver can read.",
            "Choose another kind of bounds.",
        )


def _is_empty(found: str, expected: str) -> Refused:
    return Refused("These bounds are empty.", f"Expected {expected}; found {found}.", "Correct them, propose again.")


_CHOICE = re.compile(rf"\s*(?:keep=([0-9a-fA-F]{{4,32}})|(drop_others)=(yes)|({'|'.join(NAMES)})=(\S+))(?=\s|$)")


class TypedProposal(Record):
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
