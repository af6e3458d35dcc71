"""What is true of a history at this moment, counted from positions: nothing of the code under test is asked."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from bot.observation.ids import SnapshotId
from tests.diagnosis.histories.history import History
from tests.diagnosis.histories.source import STRIDE, Stand, by_partition, has_passed
from tests.diagnosis.histories.table import Table


class Truth(NamedTuple):
    """Source positions of the job that are not on main exactly once, or will not be."""

    lost: frozenset[int]
    """Neither on main nor in what the sink still has to commit, and the source has passed them."""
    doubled: frozenset[int]
    """Live on main more than once, as evidence can find it: see `copies_at`."""
    to_come_again: frozenset[int]
    """On main, and the living run, or its sink, is to bring them once more: as copies; or the sink skips them with
    whatever else these checkpoints read."""

    @property
    def is_wrong(self) -> bool:
        """Whether rows are lost or doubled, or will be."""
        return bool(self.lost or self.doubled or self.to_come_again)


def truth_since(
    history: History, begins: Stand, below: frozenset[SnapshotId], counted: SnapshotId | None = None
) -> Truth:
    """What is true of the rows from this position on, and of copies that others than these commits brought. That the
    source had deleted what was to be read next is seen by the rows of the partition on both sides only: it counts from
    where these were there when positions were counted, at this commit (None: now). Where the contract says that
    positions are not dense, it does not show."""
    truth = truth_of(history)
    newer = {position for position, commit in history.table.live_by_commit(history.head) if commit not in below}
    there = by_partition(history.table.live(history.head if counted is None else counted))
    skipped = history.source.skipped
    tells = _hides_what_was_deleted(history)
    unseen = {each for each in skipped if tells or not _is_between(each, there)}
    lost = frozenset(position for position in truth.lost - unseen if not has_passed(begins, position))
    return Truth(lost, truth.doubled & newer, truth.to_come_again)


def _hides_what_was_deleted(history: History) -> bool:
    """Whether nothing tells it from a position without a record, because no broker is shown either."""
    setting = history.setting
    return (setting.tells_of_holes and not setting.shows_broker) or not setting.has_positions


def _is_between(position: int, there: Mapping[int, list[int]]) -> bool:
    partition, offset = divmod(position, STRIDE)
    own = there.get(partition)
    return own is not None and own[0] < offset < own[-1]


def truth_of(history: History) -> Truth:
    """A run that has ended, or never gets up, brings nothing more: what is missing above all of main may still be read
    by whoever starts the job, from whichever point."""
    if history.setting.keys:
        return _truth_by_key(history)
    live, source = frozenset(history.table.live_now), history.source
    doubled = copies_at(history, history.head)
    held = () if history.sink.never_commits else history.sink.pending
    pending = {position for written in held for position in written.rows}
    if not history.job.can_go_on:
        owed = history.job.newest.pending if history.job.newest else ()
        pending |= {position for written in owed for position in written.rows}
        return Truth(source.below(_ended(history, live)) - live - pending, doubled, frozenset())
    again = {position for position in live if not has_passed(history.stand, position)} | (pending & live)
    return Truth(source.below(history.stand) - live - pending, doubled, frozenset(again))


def _ended(history: History, live: Set[int]) -> Stand:
    """Of what a job that is over read, as far as main shows it; the half of a job that was split goes on."""
    end, half = history.source.end_of(live), history.half
    if half is None:
        return end
    return tuple(half.position[each] if each in half.read else at for each, at in enumerate(end))


def _truth_by_key(history: History) -> Truth:
    """Of each key the newest row that the source has given lives, or is to be committed. An older row that is to be
    read again, or committed, will set its key back until the newer ones have come again."""
    table, live = history.table, frozenset(history.table.live_now)
    held = () if history.sink.never_commits else history.sink.pending
    stand = history.stand
    if not history.job.can_go_on:
        held = history.job.newest.pending if history.job.newest else ()
        stand = _ended(history, live)
    pending = {position for written in held for position in written.rows}
    newest = _newest_by_key(history, stand)
    wanted = frozenset(newest.values())
    back = {each for each in pending if newest.get(table.key_of(each), each) not in {each, *pending}}
    to_read = {each for each in history.source.below(history.source.end_of(live)) if not has_passed(stand, each)}
    ahead = {each for each in live & to_read if any(_replaces(table, each, other) for other in to_read)}
    newer = live & to_read
    back |= {each for each in pending if any(_replaces(table, other, each) for other in newer)}
    if not history.job.can_go_on:
        back, ahead = set(), set()
    missing = {each for each in wanted - live - pending if not any(_replaces(table, other, each) for other in newer)}
    return Truth(frozenset(missing), copies_at(history, history.head), frozenset(back | ahead))


def _newest_by_key(history: History, stand: Stand) -> dict[int, int]:
    """Key -> the newest row of it before this stand."""
    return {history.table.key_of(each): each for each in sorted(history.source.below(stand))}


def _replaces(table: Table, newer: int, older: int) -> bool:
    return newer > older and table.key_of(newer) == table.key_of(older)


def copies_at(history: History, snapshot: SnapshotId) -> frozenset[int]:
    """Positions that live more than once at this commit. Where a row that is read again gets another key, nothing tells
    of a copy once the commit has expired that brought it: those are left out."""
    listed = {s.snapshot_id for s in history.table.chain}
    rows = history.table.live_by_commit(snapshot)
    if history.setting.keys:
        number = Counter(history.table.key_of(position) for position, _ in rows)
        return frozenset(position for position, _ in rows if number[history.table.key_of(position)] > 1)
    told = (position for position, commit in rows if history.setting.keeps_keys or commit in listed)
    return frozenset(position for position, number in Counter(told).items() if number > 1)


def wrong_up_to(history: History, snapshot: SnapshotId) -> frozenset[int]:
    """Positions that this commit of main's line has more than once, or not although it has later ones. Not what the
    source had deleted unread, where the contract says that positions are not dense."""
    live = frozenset(history.table.live(snapshot))
    unseen = history.source.skipped if _hides_what_was_deleted(history) else frozenset()
    if history.setting.keys:
        wanted = _newest_by_key(history, history.source.end_of(live)).values()
        return copies_at(history, snapshot) | (frozenset(wanted) - live - unseen)
    return copies_at(history, snapshot) | (history.source.below(history.source.end_of(live)) - live - unseen)


def ranges_of(positions: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of each run of positions without a gap, both inclusive."""
    ranges = list[tuple[int, int]]()
    for position in sorted(set(positions)):
        if ranges and ranges[-1][1] == position - 1:
            ranges[-1] = (ranges[-1][0], position)
        else:
            ranges.append((position, position))
    return ranges
