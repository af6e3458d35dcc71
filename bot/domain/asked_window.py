"""What people write for a window: snapshot ids, times, or how far back; and the commits that it means."""

import re
from datetime import UTC, datetime, timedelta

from bot.domain.errors import Refused
from bot.domain.ids import SnapshotId, short
from bot.domain.table import EMPTY, Snapshot, TableState, Window

FORMS = (
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
    return Refused(f"“{text}” names no window.", f"Expected {FORMS}.", "Copy ids from `waterline commits`.")
