"""What people type or choose, read as values: a window, a moment to come, the bounds of a replay.

A window is named by snapshot ids, times, or how far back. Bounds are `positions=1200..1500 partition=0`, or
`from=… until=…`; they are compared with columns, never words of a query. Behind “propose” stands an action, what is
chosen for it as `name=value`, and a reason.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta

from bot.observation.contract import TableContract
from bot.observation.errors import Refused
from bot.observation.ids import SnapshotId, short
from bot.observation.record import Record
from bot.observation.replay import PositionRange, ReplayRange
from bot.observation.table import EMPTY, Snapshot, TableState, Window

WINDOW_FORMS = (
    "ID, ID..ID (snapshot ids, or their last six digits), 2h or 30m (back from now), or TIME..TIME (ISO 8601, UTC "
    "unless it says otherwise)"
)


_BACK = re.compile(r"(\d+)\s*(s|m|h|d)")


_AS_READ = 6
"""Digits of an id as it is read aloud: see `short`."""


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def asked_window(text: str, table: TableState) -> Window:
    """The window that `text` means on this table. The lower bound is exclusive, the upper one inclusive; without an
    upper one it reaches to the head.

    A time as lower bound means the newest ancestor of the window's end that was committed at or before it.
    Raises Refused for what is not understood, with the forms that are; for an end that is not on main; and for a
    beginning above the end, because a window without a commit would find nothing wrong. A beginning that main was
    rolled back from stays what it is: see `Window.on_main`.
    """
    if table.head is None:
        return _of_nothing(text, table)
    if back := _BACK.fullmatch(text.strip()):
        edge = table.read_at - timedelta(**{_UNITS[back[2]]: int(back[1])})
        return Window(since=_newest_before(table, table.head, edge), until=table.head)
    lower, dots, upper = text.strip().partition("..")
    until = _end(upper, table) if upper else table.head
    if not lower and not dots:
        raise _not_understood(text)
    if not lower:
        return Window(since=None, until=until)
    if is_id(lower):
        return _in_order(Window(since=listed(lower, table), until=until), text, table)
    edge = _time(lower, text)
    if upper and edge > (table.by_id[until].committed_at if is_id(upper) else _time(upper, text)):
        raise _reversed(text, f"{edge:%Y-%m-%d %H:%M:%S} UTC lies after it")
    return Window(since=_newest_before(table, until, edge), until=until)


def _in_order(window: Window, text: str, table: TableState) -> Window:
    """The same window, whose beginning is known to lie at or below its end."""
    begin = window.on_main(table).since
    if begin is None or any(begin == each.snapshot_id for each in table.ancestors(window.until)):
        return window
    where = f"main left the line of {short(window.since)} at {short(begin)}, which" if begin != window.since else "this"
    raise _reversed(text, f"{where} lies above {short(window.until)}")


def _of_nothing(text: str, table: TableState) -> Window:
    """Main has no commit yet: whatever time is meant, the window is empty; an id is not listed."""
    if not _BACK.fullmatch(text.strip()):
        ends = [end for end in text.strip().partition("..")[::2] if end]
        if not ends:
            raise _not_understood(text)
        for end in ends:
            listed(end, table) if is_id(end) else _time(end, text)
    return EMPTY


def _end(upper: str, table: TableState) -> SnapshotId:
    if is_id(upper):
        return _on_main(listed(upper, table), table)
    edge = _time(upper, upper)
    found = _newest_before(table, table.head, edge)
    if found is None:
        oldest = table.chain[-1]
        raise Refused(
            f"No commit of {table.name} lies at or before {edge:%Y-%m-%d %H:%M:%S} UTC.",
            f"The oldest that main still lists is of {oldest.committed_at:%Y-%m-%d %H:%M:%S} UTC.",
            "Choose a later end.",
        )
    return found


def _newest_before(table: TableState, of: SnapshotId | None, edge: datetime) -> SnapshotId | None:
    found: Snapshot | None = next((s for s in table.ancestors(of) if s.committed_at <= edge), None)
    return None if found is None else found.snapshot_id


def begin_of(window: Window) -> str:
    """Where it begins, as it is read: `after …720061`."""
    return "from the first one" if window.since is None else f"after {short(window.since)}"


def is_id(text: str) -> bool:
    """Whether it is digits, or as a message shows an id, `…720061`."""
    return text.strip().removeprefix("…").isdecimal()


def listed(text: str, table: TableState) -> SnapshotId:
    """The snapshot with this id, or the only one whose id ends with these six or more digits. Raises Refused."""
    digits = text.strip().removeprefix("…")
    if (whole := SnapshotId(int(digits))) in table.by_id:
        return whole
    ending = [each for each in table.by_id if len(digits) >= _AS_READ and str(each).endswith(digits)]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise Refused(
            f"Table {table.name} lists {len(ending)} snapshots whose ids end with {digits}.",
            f"Expected one; found {', '.join(map(str, ending[:3]))}.",
            "Write the whole id.",
        )
    raise Refused(
        f"Table {table.name} lists no snapshot {digits}.",
        "Expected an id, or its last six digits, as the ledger shows them; an expired one is not listed any more.",
        "See them with `waterline commits`.",
    )


def _on_main(end: SnapshotId, table: TableState) -> SnapshotId:
    if end not in table.chain_ids:
        raise Refused(
            f"No window of {table.name} can end at snapshot {end}: it is not on main.",
            "Expected the head or an ancestor of it; main was rolled back from this one, or it is of another branch.",
            "End the window at a commit on main: what main lost since the window began is of it anyway.",
        )
    return end


def _time(text: str, whole: str) -> datetime:
    try:
        told = datetime.fromisoformat(text.strip())
    except ValueError:
        raise _not_understood(whole) from None
    return told if told.tzinfo is not None else told.replace(tzinfo=UTC)


def _reversed(text: str, found: str) -> Refused:
    return Refused(
        f"The window “{text}” begins above its end, so no commit is in it.",
        f"Expected a beginning at or below the end; {found}.",
        "Turn the two round, or choose an earlier beginning.",
    )


def _not_understood(text: str) -> Refused:
    return Refused(f"“{text}” names no window.", f"Expected {WINDOW_FORMS}.", "Copy ids from `waterline commits`.")


MOMENT_FORMS = "14:10 (the next one), or 2026-11-24 14:10; UTC unless it says otherwise"


def said_moment(text: str, now: datetime) -> datetime:
    """The moment that `text` means when it is read at `now`; it may have passed where it comes with its day. Raises
    Refused with the forms that are understood."""
    words = text.strip().upper().removesuffix("UTC").rstrip()
    try:
        if words[:10].count("-") < 2:
            return _next(time.fromisoformat(words), now)
        told = datetime.fromisoformat(words)
    except ValueError:
        raise _no_moment(text.strip()) from None
    if ":" not in words:  # a day alone
        raise _no_moment(text.strip())
    return told if told.tzinfo is not None else told.replace(tzinfo=UTC)


def _next(at: time, now: datetime) -> datetime:
    zone = at.tzinfo or UTC
    today = datetime.combine(now.astimezone(zone).date(), at, zone)
    return today if today > now else today + timedelta(days=1)


def _no_moment(words: str) -> Refused:
    return Refused(f"“{words}” is not a time.", f"Expected {MOMENT_FORMS}.", "Write it like this, or leave it empty.")


def end_of_day(chosen: str) -> datetime:
    """The last second in UTC of a day as a form's calendar names it, `2026-11-24`."""
    return datetime.combine(date.fromisoformat(chosen), time(23, 59, 59, tzinfo=UTC))


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
