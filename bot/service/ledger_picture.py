"""The ledger as a picture: one dot a commit, newest on top, one lane a run, and the waterline across. Pure."""

from bot.domain.ids import SnapshotId, short, short_job
from bot.domain.ledger import Ledger, LedgerRow
from bot.domain.record import Record

MOST = 80
"""Commits that are drawn; of a longer ledger the newest."""
_TOP, _LEFT, _LANE = 34.0, 30.0, 64.0
_TALLEST = 560.0
_GUTTER = 40.0
"""Right of the lanes, where the waterline has its name and no dot is."""
_WIDEST_STEP = 26.0
_LABELS_FROM = 13.0
"""Below this distance of dots, labels would overlap and are left out."""


class Dot(Record):
    """One commit."""

    x: float
    y: float
    lane: int
    is_hollow: bool
    """True when the table no longer contains it."""
    label: str
    """Checkpoint id; empty where there is no room or none."""
    title: str
    """What a pointer resting on it reads."""


class Lane(Record):
    """One run, or another engine."""

    x: float
    name: str
    number: int


class Picture(Record):
    """Everything in the units of the view box."""

    width: float
    height: float
    dots: tuple[Dot, ...]
    lanes: tuple[Lane, ...]
    links: tuple[str, ...]
    """Paths from each commit to its parent, as SVG path data."""
    waterline: float | None
    """Height of the line; None when no snapshot is trusted."""
    waterline_label: str
    left_out: int
    """Older commits that are not drawn."""


def picture(ledger: Ledger, *, line_at: SnapshotId | None, label: str, taken_back: frozenset[SnapshotId]) -> Picture:
    """Draw `ledger`; the line goes right above snapshot `line_at`, which it trusts. With a label and no
    `line_at`, it goes below everything: the trusted snapshot is older than the ledger."""
    rows = ledger.rows[-MOST:]
    step = min(_WIDEST_STEP, _TALLEST / max(len(rows), 1))
    names = list(dict.fromkeys(_writer(row) for row in rows))
    lanes = tuple(Lane(x=_LEFT + _LANE * n, name=name, number=n % 6) for n, name in enumerate(names))
    place = dict(zip(names, lanes, strict=True))
    bottom = _TOP + step * len(rows)
    dots = {
        row.snapshot_id: Dot(
            x=place[_writer(row)].x,
            y=round(bottom - step * (n + 0.5), 1),
            lane=place[_writer(row)].number,
            is_hollow=not row.on_main or row.snapshot_id in taken_back,
            label=str(row.checkpoint_id) if row.checkpoint_id is not None and step >= _LABELS_FROM else "",
            title=_title(row),
        )
        for n, row in enumerate(rows)
    }
    return Picture(
        width=_LEFT + _LANE * len(lanes) + _GUTTER,
        height=bottom + 12,
        dots=tuple(dots.values()),
        lanes=lanes,
        links=tuple(_link(dots[r.snapshot_id], dots[r.parent_id]) for r in rows if r.parent_id in dots),
        waterline=round(dots[line_at].y - step / 2, 1) if line_at in dots else (bottom if label else None),
        waterline_label=label,
        left_out=len(ledger.rows) - len(rows),
    )


def _writer(row: LedgerRow) -> str:
    return short_job(row.job_id) if row.job_id else row.engine


def _title(row: LedgerRow) -> str:
    checkpoint = f", checkpoint {row.checkpoint_id}" if row.checkpoint_id is not None else ""
    return f"{short(row.snapshot_id)} by {_writer(row)}{checkpoint}, {row.added_rows:,} rows"


def _link(child: Dot, parent: Dot) -> str:
    """Straight within a lane, an S between lanes."""
    if child.x == parent.x:
        return f"M{child.x} {child.y}V{parent.y}"
    middle = (child.y + parent.y) / 2
    return f"M{child.x} {child.y}C{child.x} {middle} {parent.x} {middle} {parent.x} {parent.y}"
