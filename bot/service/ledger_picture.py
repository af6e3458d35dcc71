"""The ledger as a picture: newest on top, one lane and one shape a writer, the waterline across. Pure geometry.

Everything is in the units of a phone 360 wide. What draws it (SVG in the record, PNG for Slack) only loops.
"""

from collections.abc import Sequence
from typing import Literal

from bot.domain.ids import SnapshotId
from bot.domain.ledger import Ledger
from bot.domain.ledger_marks import Commit, Mark, Missing, Stretch, marks_of
from bot.domain.record import Record
from bot.service.drawing import OUTLINES, Label, Point, Shape, Stroke
from bot.service.ledger_words import alt_text, beside, days_of, lane_of, name_of, not_drawn, note_of, title_of

LANES = 6
"""Writers with a lane, a colour and a shape of their own; more share the last."""
_WIDTH, _TOP, _STEP, _NOTE, _BOTTOM = 360.0, 42.0, 22.0, 16.0, 12.0
_DAY = 18.0
"""Height of the line that says a day; the first one stands beside the names of the lanes."""
_TIME_UNTIL, _FIRST_LANE, _LANE, _ASIDE, _BESIDE = 56.0, 76.0, 48.0, 16.0, 11.0
_CHARACTER = 6.6
"""Width of one, at most."""
_R = 6.0


class Picture(Record):
    """All that is to be drawn, in the order water, strokes, shapes, labels, waterline."""

    width: float
    height: float
    strokes: tuple[Stroke, ...]
    shapes: tuple[Shape, ...]
    labels: tuple[Label, ...]
    waterline: float | None
    """Height of the line, with water below it; None when no snapshot is trusted."""
    waterline_label: str
    left_out: int
    """Older commits that are not drawn; the picture says so at its foot."""
    readers_known: bool
    """False when no lineage source could be asked: then that no reader is drawn says nothing."""
    alt: str
    """The same in words, for those who do not see it."""


def picture(ledger: Ledger, *, line_at: SnapshotId | None, label: str, taken_back: frozenset[SnapshotId]) -> Picture:
    """Draw `ledger`; the line goes right above snapshot `line_at`, which it trusts. With a label and no
    `line_at`, it goes below everything: the trusted snapshot is older than the ledger."""
    gone = taken_back | {row.snapshot_id for row in ledger.rows if not row.on_main}
    marks, left_out = marks_of(ledger, gone=gone, line_at=line_at)
    names = list(dict.fromkeys(lane_of(mark) for mark in marks))
    lanes = {name: min(n, LANES - 1) for n, name in enumerate(names)}
    drawn = _Drawing(lanes)
    bottom = _TOP
    newest_first = marks[::-1]
    noted: set[float] = set()
    for mark, day in zip(newest_first, days_of(newest_first), strict=True):
        bottom += _DAY if day and bottom > _TOP else 0
        drawn.add(mark, bottom + _STEP / 2, day)
        bottom += _STEP + (_NOTE if note_of(mark) else 0)
        noted |= {bottom} if note_of(mark) else set()
    if left_out:
        bottom += _NOTE
        drawn.say_last(bottom - _NOTE / 2, not_drawn(left_out))
    drawn.link(ledger)
    at = drawn.places.get(line_at) if line_at is not None else None
    line = at[1] - _STEP / 2 if at is not None else (bottom if label else None)
    return Picture(
        width=_WIDTH,
        height=bottom + _BOTTOM,
        strokes=tuple(drawn.strokes),
        shapes=tuple(drawn.shapes),
        labels=(*_heads(names, lanes), *drawn.labels, *_mark(line, at_left=line in noted)),
        waterline=line,
        waterline_label=label,
        left_out=left_out,
        readers_known=ledger.readers_known,
        alt=alt_text(ledger, label, gone, left_out),
    )


class _Drawing:
    """Places marks and remembers where each commit lies."""

    def __init__(self, lanes: dict[str, int]) -> None:
        self._lanes = lanes
        self.places: dict[SnapshotId, Point] = {}
        self.strokes: list[Stroke] = []
        self.shapes: list[Shape] = []
        self.labels: list[Label] = []

    def add(self, mark: Mark, y: float, day: str) -> None:
        """One mark at that height, with what stands beside it; above it its day, where one is to be said."""
        self._label(6, y - _STEP / 2 - _DAY / 2, day, "time")
        lane = self._lanes[lane_of(mark)]
        x = _FIRST_LANE + _LANE * lane
        match mark:
            case Commit():
                x += 0 if mark.row.on_main else _ASIDE
                self.places[mark.row.snapshot_id] = (x, y)
                self._shape(x, y, lane, is_hollow=mark.is_gone, title=title_of(mark))
                self._label(_TIME_UNTIL, y, f"{mark.row.committed_at:%H:%M:%S}", "time", "end")
                self._beside(x, y, beside(mark), "checkpoint")
            case Stretch():
                x += 0 if mark.rows[0].on_main else _ASIDE
                self.places |= {row.snapshot_id: (x, y) for row in mark.rows}
                self._beside(x, y, beside(mark), "checkpoint")
                for step in (-6, 0, 6):
                    self._shape(x, y + step, lane, is_hollow=mark.is_gone, title=title_of(mark), size=0.3)
            case Missing():
                self.strokes += [
                    Stroke(points=((x - 5, y - 5), (x + 5, y + 5)), style="fault"),
                    Stroke(points=((x - 5, y + 5), (x + 5, y - 5)), style="fault"),
                ]
                self._beside(x, y, beside(mark), "fault")
        if note := note_of(mark):
            self._note(x + _BESIDE, y + _STEP / 2 + _NOTE / 2 - 4, note)

    def _beside(self, x: float, y: float, words: str, style: Literal["checkpoint", "fault"]) -> None:
        """At the right of a mark, or at its left where the picture ends before the words do."""
        is_tight = x + _BESIDE + len(words) * _CHARACTER > _WIDTH
        self._label(x - _BESIDE if is_tight else x + _BESIDE, y, words, style, "end" if is_tight else "start")

    def _note(self, x: float, y: float, note: str) -> None:
        """A line of its own under the mark; to the right edge where it is long, and cut where it is too long."""
        most = int((_WIDTH - _FIRST_LANE - 12) / _CHARACTER)
        text = note if len(note) <= most else note[: most - 1] + "…"
        if x + len(text) * _CHARACTER > _WIDTH - 6:
            self._label(_WIDTH - 6, y, text, "note", "end")
        else:
            self._label(x, y, text, "note")

    def say_last(self, y: float, text: str) -> None:
        """At the foot, under the oldest mark."""
        self._label(6, y, text, "time")

    def link(self, ledger: Ledger) -> None:
        """A line from each commit to its parent, as far as both are drawn."""
        for row in ledger.rows:
            child = self.places.get(row.snapshot_id)
            parent = self.places.get(row.parent_id) if row.parent_id is not None else None
            if child is None or parent is None or child == parent:
                continue
            self.strokes.append(
                Stroke(
                    points=(child, *_bend(child, parent, row.on_main), parent), style="link" if row.on_main else "gone"
                )
            )

    def _shape(self, x: float, y: float, lane: int, *, is_hollow: bool, title: str, size: float = 1) -> None:
        points = tuple((round(x + _R * size * dx, 1), round(y + _R * size * dy, 1)) for dx, dy in OUTLINES[lane])
        self.shapes.append(Shape(points=points, lane=lane, is_hollow=is_hollow, title=title))

    def _label(
        self,
        x: float,
        y: float,
        text: str,
        style: Literal["time", "checkpoint", "note", "fault"],
        anchor: Literal["start", "end"] = "start",
    ) -> None:
        if text:
            self.labels.append(Label(x=x, y=y + 4, text=text, style=style, anchor=anchor))


def _bend(child: Point, parent: Point, on_main: bool) -> tuple[Point, ...]:
    """Where the line changes lanes, so that it crosses no label: labels are at the right of their marks."""
    if child[0] == parent[0]:
        return ()
    is_near_child = on_main and child[0] > parent[0]
    return ((parent[0], child[1] + _STEP / 2),) if is_near_child else ((child[0], parent[1] - _STEP / 2),)


def _heads(names: Sequence[str], lanes: dict[str, int]) -> list[Label]:
    """What each lane is, in two lines so that neighbours do not touch; the last one may hold several."""
    found: list[Label] = []
    for lane in sorted(set(lanes.values())):
        held = [name for name in names if lanes[name] == lane]
        text = name_of(held[0]) if len(held) == 1 else f"{len(held)} others"
        y = 14 if lane % 2 == 0 else 29
        found.append(Label(x=_FIRST_LANE + _LANE * lane, y=y, text=text, style="lane", anchor="middle"))
    return found


def _mark(line: float | None, *, at_left: bool) -> list[Label]:
    """The line's name, right above it; at the left where a note ends at the right."""
    if line is None:
        return []
    x = 6.0 if at_left else _WIDTH - 6
    return [Label(x=x, y=line - 4, text="waterline", style="mark", anchor="start" if at_left else "end")]
