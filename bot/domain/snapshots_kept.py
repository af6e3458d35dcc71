"""How long a table's own rules keep a commit of main from expiry.

Source: Iceberg spec, "Snapshot Retention Policy", which `RemoveSnapshots` obeys. A procedure may be called with other
ages.
"""

from datetime import timedelta

from bot.domain.table import Ref, Snapshot, TableState

MAX_AGE, MIN_KEPT = "history.expire.max-snapshot-age-ms", "history.expire.min-snapshots-to-keep"
_MAX_REF_AGE = "history.expire.max-ref-age-ms"
_DEFAULT_AGE = timedelta(days=5)
"""Iceberg's defaults: five days, one snapshot, and branches and tags for ever."""
_FOR_EVER_MS = 10**15
"""An age of 30,000 years or more, as who sets the highest number means it."""
_MAIN = "main"


def kept_for(table: TableState) -> timedelta:
    """The age from which main lets a snapshot be expired: its own, else the table's."""
    return _age_on(table, _ref(table, _MAIN))


def least_kept(table: TableState) -> int:
    """Snapshots of main that are kept whatever their age: its own number, else the table's."""
    return _least_on(table, _ref(table, _MAIN))


def says_itself(table: TableState) -> bool:
    """Whether main or the table sets the age; else it is Iceberg's default."""
    main = _ref(table, _MAIN)
    return (main is not None and main.max_snapshot_age_ms is not None) or _told(table, MAX_AGE) is not None


def ref_ends_in(table: TableState, ref: Ref) -> timedelta | None:
    """Until expiry may drop the branch or tag itself, below zero if it may now; None: never, as main."""
    age = ref.max_ref_age_ms if ref.max_ref_age_ms is not None else _told(table, _MAX_REF_AGE)
    named = table.by_id.get(ref.snapshot_id)
    if ref.name == _MAIN or age is None or age >= _FOR_EVER_MS or named is None:
        return None
    return named.committed_at + timedelta(milliseconds=age) - table.read_at


def stays_for(table: TableState, place: int, commit: Snapshot) -> timedelta | None:
    """Until the commit may expire, zero if it may now; None: a branch or tag without an end keeps it.

    `place`: how many commits of main are newer.
    """
    if place == 0:
        return None
    left = [_left_on_main(table, place, commit)]
    for ref in table.refs:
        if ref.name == _MAIN:
            continue
        if ref.snapshot_id == commit.snapshot_id:
            end = ref_ends_in(table, ref)
        elif ref.kind == "branch":
            is_held, end = _held_below(table, ref, commit)
            if not is_held:
                continue
        else:
            continue
        if end is None:
            return None
        left.append(end)
    return max(*left, timedelta(0))


def _left_on_main(table: TableState, place: int, commit: Snapshot) -> timedelta:
    """Until its age is reached, and until enough newer snapshots stand above it at the present pace."""
    by_age = commit.committed_at + kept_for(table) - table.read_at
    missing = least_kept(table) - place
    newer = table.chain[:place]
    pace = (table.read_at - newer[-1].committed_at) / place
    return max(by_age, missing * pace)


def _held_below(table: TableState, ref: Ref, commit: Snapshot) -> tuple[bool, timedelta | None]:
    """(Whether the branch holds the commit below its own head, until when). A branch is taken to stay as it is."""
    for place, each in enumerate(table.ancestors(ref.snapshot_id)):
        if each.snapshot_id == commit.snapshot_id:
            ends = ref_ends_in(table, ref)
            if place < _least_on(table, ref):
                return True, ends
            by_age = commit.committed_at + _age_on(table, ref) - table.read_at
            return True, by_age if ends is None else min(by_age, ends)
        if table.place_of(each.snapshot_id) < table.place_of(commit.snapshot_id):
            break
    return False, None


def _age_on(table: TableState, branch: Ref | None) -> timedelta:
    own = branch.max_snapshot_age_ms if branch is not None else None
    age = own if own is not None else _told(table, MAX_AGE)
    return _DEFAULT_AGE if age is None else timedelta(milliseconds=min(age, _FOR_EVER_MS))


def _least_on(table: TableState, branch: Ref | None) -> int:
    own = branch.min_snapshots if branch is not None else None
    return own or _told(table, MIN_KEPT) or 1


def _told(table: TableState, name: str) -> int | None:
    told = table.properties.get(name, "")
    return int(told) if told.isdigit() else None


def _ref(table: TableState, name: str) -> Ref | None:
    return next((ref for ref in table.refs if ref.name == name), None)
