"""The ledger as a picture: newest on top, one lane and one shape a writer, the waterline across. Pure geometry.

Everything is in the units of a phone 360 wide. What draws it (SVG in the record, PNG for Slack) only loops.

What stands beside the marks of the ledger's picture, and the picture in words. Pure.

Which ledger a record shows, where its waterline is drawn, and which commits were taken back since.

What a picture is made of: outlines, lines and labels, in the units of the picture.

Which marks a picture of the ledger shows: commits, stretches of uneventful ones, and what is missing. Pure.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from bot.incident.effects import MoveTable
from bot.incident.execution import ProposalState
from bot.incident.incident import Incident
from bot.observation.evidence import Evidence
from bot.observation.findings import LedgerFinding
from bot.observation.ids import DRAINED, CheckpointId, EvidenceId, SnapshotId, short, short_job
from bot.observation.ledger import Ledger, LedgerRow, Sink, SkippedCheckpoint
from bot.observation.record import Record
from bot.observation.sentences import clock_time, column_times, counted

_WHOLE = 16
"""A ledger of so many commits is shown whole."""


_SHORTEST = 3
"""A stretch stands for at least so many commits."""


MOST = 30
"""Marks that are drawn; of more the newest."""


@dataclass(frozen=True)
class Commit:
    row: LedgerRow
    is_gone: bool
    """Whether the table no longer contains it."""


@dataclass(frozen=True)
class Stretch:
    """Commits of one writer in a row of which there is nothing to say."""

    rows: tuple[LedgerRow, ...]
    is_gone: bool

    @property
    def checkpoints(self) -> str:
        """`12–46`; empty where they are not Flink's."""
        first, last = self.rows[0].checkpoint_id, self.rows[-1].checkpoint_id
        return "" if first is None or last is None else f"{first}–{last}"


@dataclass(frozen=True)
class Missing:
    """Checkpoints whose files may be missing from the table."""

    skipped: SkippedCheckpoint


Mark = Commit | Stretch | Missing


def marks_of(ledger: Ledger, *, gone: Set[SnapshotId], line_at: SnapshotId | None) -> tuple[tuple[Mark, ...], int]:
    """(marks oldest first, number of older commits that are left out)."""
    rows = ledger.rows
    found: list[Mark] = []
    plain: list[LedgerRow] = []

    def close() -> None:
        """Turn the plain commits collected so far into marks."""
        is_gone = bool(plain) and plain[0].snapshot_id in gone
        if len(plain) >= _SHORTEST:
            found.append(Stretch(rows=tuple(plain), is_gone=is_gone))
        else:
            found.extend(Commit(row=row, is_gone=is_gone) for row in plain)
        plain.clear()

    for n, row in enumerate(rows):
        if len(rows) > _WHOLE and _is_plain(rows, n, gone, line_at):
            plain.append(row)
            continue
        close()
        found += [Missing(skipped=each) for each in row.skipped if each.is_fault]
        found.append(Commit(row=row, is_gone=row.snapshot_id in gone))
    close()
    found += [Missing(skipped=each) for each in ledger.trailing if each.is_fault]
    return tuple(found[-MOST:]), sum(_commits(mark) for mark in found[:-MOST])


def _commits(mark: Mark) -> int:
    match mark:
        case Commit():
            return 1
        case Stretch():
            return len(mark.rows)
        case Missing():
            return 0


def _is_plain(rows: tuple[LedgerRow, ...], n: int, gone: Set[SnapshotId], line_at: SnapshotId | None) -> bool:
    """Whether commit `n` says nothing that its neighbours do not say."""
    if n in (0, len(rows) - 1):
        return False
    before, row, after = rows[n - 1], rows[n], rows[n + 1]
    is_marked = (
        bool(row.readers) or any(ref != "main" for ref in row.refs) or line_at in (row.snapshot_id, row.parent_id)
    )
    is_marked = is_marked or any(each.is_fault for each in (*row.skipped, *after.skipped))
    is_alike = _kind(before, gone) == _kind(row, gone) == _kind(after, gone)
    return is_alike and not is_marked and row.parent_id == before.snapshot_id


def _kind(row: LedgerRow, gone: Set[SnapshotId]) -> tuple[object, ...]:
    return (row.engine, row.job_id, row.on_main, row.snapshot_id in gone)


Point = tuple[float, float]


OUTLINES: tuple[tuple[Point, ...], ...] = (
    ((1, 0), (0.92, 0.38), (0.71, 0.71), (0.38, 0.92), (0, 1), (-0.38, 0.92), (-0.71, 0.71), (-0.92, 0.38),
     (-1, 0), (-0.92, -0.38), (-0.71, -0.71), (-0.38, -0.92), (0, -1), (0.38, -0.92), (0.71, -0.71), (0.92, -0.38)),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    ((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4), (0.4, 1.2), (-0.4, 1.2),
     (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
)  # fmt: skip
"""Circle, square, diamond, triangle up, triangle down, plus, each of radius 1: so that colour is never the only
sign of a writer."""


class Shape(Record):
    """A closed outline in a lane's colour."""

    points: tuple[Point, ...]
    lane: int
    is_hollow: bool
    title: str
    """What a pointer resting on it reads."""


class Stroke(Record):
    points: tuple[Point, ...]
    style: Literal["link", "gone", "fault"]
    """`gone` and `fault` are dashed."""


class Label(Record):
    """One line of text; `y` is its baseline."""

    x: float
    y: float
    text: str
    style: Literal["lane", "time", "checkpoint", "note", "fault", "mark"]
    anchor: Literal["start", "middle", "end"] = "start"


def writer_of(row: LedgerRow) -> str:
    """What shares a lane: a Flink run by its whole id, any other writer by its kind."""
    if row.job_id is not None:
        return row.job_id
    return row.engine if row.sink is Sink.OTHER else row.sink.value


def lane_of(mark: Mark) -> str:
    match mark:
        case Commit():
            return writer_of(mark.row)
        case Stretch():
            return writer_of(mark.rows[0])
        case Missing():
            return mark.skipped.job_id or "unknown"


def name_of(writer: str) -> str:
    """A run by its first six digits, others as they are."""
    return short_job(writer) if len(writer) == 32 else writer[:11]


def beside(mark: Mark) -> str:
    """Right beside the mark: checkpoint ids, or what another engine did."""
    match mark:
        case Commit():
            did = _id(mark.row.checkpoint_id) if mark.row.checkpoint_id is not None else mark.row.operation
            return did if mark.row.on_main else f"{did} rolled back"
        case Stretch():
            return f"{mark.checkpoints} ({len(mark.rows)})" if mark.checkpoints else f"{len(mark.rows)} commits"
        case Missing():
            return mark.skipped.words


def _id(checkpoint: CheckpointId) -> str:
    return "drained" if checkpoint == DRAINED else str(checkpoint)


def note_of(mark: Mark) -> str:
    """A line under the mark: who read it, and which tags and branches keep it; mostly empty."""
    if not isinstance(mark, Commit):
        return ""
    readers = sorted({reader.consumer for reader in mark.row.readers})
    kept = [ref for ref in mark.row.refs if ref not in ("main", "waterline")]
    return " · ".join([*([f"read by {', '.join(readers)}"] if readers else []), *kept])


def days_of(marks: Sequence[Mark]) -> list[str]:
    """For each mark (newest first) the day, in UTC, that is said above it: `2 Nov 2026` above the first, and wherever
    another one begins."""
    days = [rows[-1].committed_at.astimezone(UTC) if (rows := _rows_of(mark)) else None for mark in marks]
    said = next((day for day in days if day is not None), None)
    found = [f"{said.day} {said:%b %Y}" if said is not None else ""]
    for day in days[1:]:
        is_new = day is not None and said is not None and day.date() != said.date()
        found.append(f"{day.day} {day:%b %Y}" if is_new and day is not None else "")
        said = day or said
    return found[: len(marks)]


def _rows_of(mark: Mark) -> tuple[LedgerRow, ...]:
    """Oldest first; none where the commits are missing."""
    match mark:
        case Commit():
            return (mark.row,)
        case Stretch():
            return mark.rows
        case Missing():
            return ()


def title_of(mark: Commit | Stretch) -> str:
    """What a pointer resting on it reads."""
    if isinstance(mark, Stretch):
        return (
            f"{len(mark.rows)} commits by {name_of(writer_of(mark.rows[0]))}, checkpoints {mark.checkpoints or 'none'}"
        )
    row = mark.row
    checkpoint = f", checkpoint {row.checkpoint_id}" if row.checkpoint_id is not None else ""
    gone = ", no longer in the table" if mark.is_gone else ""
    return f"{short(row.snapshot_id)} by {name_of(writer_of(row))}{checkpoint}, {row.added_rows:,} rows{gone}"


def not_drawn(left_out: int) -> str:
    """What says that a picture begins later than its ledger; empty where it shows all."""
    if not left_out:
        return ""
    return f"{left_out:,} older commit{' is' if left_out == 1 else 's are'} not drawn"


def alt_text(ledger: Ledger, line: str, gone: Set[SnapshotId], left_out: int) -> str:
    """The picture for those who do not see it, in a few sentences. `left_out`: of the older commits, not drawn."""
    rows = ledger.rows
    if not rows:
        return "No commit in the window."
    writers = dict.fromkeys(writer_of(row) for row in rows)
    first, last = rows[0].committed_at, rows[-1].committed_at
    told = [
        f"{counted(len(rows), 'commit')} from {clock_time(first, seconds=True)} "
        f"to {clock_time(last, first, seconds=True)}",
        *([not_drawn(left_out)] if left_out else []),
        *([] if ledger.readers_known else ["who read them is unknown"]),
        *(_writer_in_words(writer, [row for row in rows if writer_of(row) == writer]) for writer in writers),
    ]
    lost = [row for row in rows if row.snapshot_id in gone]
    if lost:
        told.append(f"{len(lost)} of them no longer in the table")
    missing = [each for row in rows for each in row.skipped if each.is_fault]
    told += [f"checkpoints {each.words}" for each in (*missing, *(t for t in ledger.trailing if t.is_fault))]
    readers = dict.fromkeys((reader.consumer, row.snapshot_id) for row in rows for reader in row.readers)
    told += [f"{consumer} read {short(snapshot)}" for consumer, snapshot in readers]
    told.append(line or "no snapshot is trusted")
    return ". ".join(part[0].upper() + part[1:] for part in told) + "."


def _writer_in_words(writer: str, rows: list[LedgerRow]) -> str:
    ids = [row.checkpoint_id for row in rows if row.checkpoint_id is not None]
    if not ids:
        return f"{name_of(writer)} committed {'once' if len(rows) == 1 else f'{len(rows)} times'}"
    span = f"checkpoint {ids[0]}" if len(ids) == 1 else f"checkpoints {min(ids)} to {max(ids)}"
    return f"run {name_of(writer)} committed {span}"


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


@dataclass(frozen=True)
class LedgerView:
    """The newest ledger of the incident, ready to be shown."""

    evidence: Evidence
    rows: tuple[LedgerRow, ...]
    """Newest first."""
    trailing: tuple[SkippedCheckpoint, ...]
    """What Flink completed and the table does not carry, newest first."""
    readers_known: bool
    taken_back: frozenset[SnapshotId]
    """Not part of the table any more: rolled back when pinned, or by a proposal that was applied since."""
    line_at: SnapshotId | None
    picture: Picture

    def said(self, at: datetime) -> str:
        """When a commit was made, in UTC: with its day where not all are of the day of the look."""
        return column_times((self.evidence.at, *(row.committed_at for row in self.rows)))(at)


def ledger_view(incident: Incident, of: EvidenceId | None = None) -> LedgerView | None:
    """The ledger of that run, else the newest; None when it has none. The waterline is the incident's present one."""
    run = incident.runs.get(of) if of is not None else incident.latest.get("ledger")
    if run is None or run.evidence is None or not isinstance(run.evidence.finding, LedgerFinding):
        return None
    ledger = run.evidence.finding.ledger
    taken_back = _taken_back(incident, run.evidence, ledger.rows)
    line_at, label = _line(incident, {row.snapshot_id for row in ledger.rows})
    return LedgerView(
        evidence=run.evidence,
        rows=tuple(reversed(ledger.rows)),
        trailing=tuple(reversed(ledger.trailing)),
        readers_known=ledger.readers_known,
        taken_back=taken_back,
        line_at=line_at,
        picture=picture(ledger, line_at=line_at, label=label, taken_back=taken_back),
    )


def _taken_back(incident: Incident, evidence: Evidence, rows: tuple[LedgerRow, ...]) -> frozenset[SnapshotId]:
    gone = {row.snapshot_id for row in rows if not row.on_main}
    for view in incident.proposals.values():
        started = view.execution_started_at
        if view.state is not ProposalState.APPLIED or started is None or started < evidence.at:
            continue
        for move in (effect for effect in view.proposal.effects if isinstance(effect, MoveTable)):
            kept = _ancestors(rows, move.to)
            gone |= {row.snapshot_id for row in rows if row.snapshot_id not in kept} if kept else set()
    return frozenset(gone)


def _ancestors(rows: tuple[LedgerRow, ...], of: SnapshotId) -> set[SnapshotId]:
    """`of` and its parents, as far as the ledger has them; empty if it does not have `of`."""
    parents = {row.snapshot_id: row.parent_id for row in rows}
    found: set[SnapshotId] = set()
    current: SnapshotId | None = of
    while current is not None and current in parents:
        found.add(current)
        current = parents[current]
    return found


def _line(incident: Incident, drawn: set[SnapshotId]) -> tuple[SnapshotId | None, str]:
    """Where the waterline is drawn. Once it has moved past this ledger, where it stood at the opening; no id
    but a label when that is where the window begins, below the ledger."""
    if incident.trusted in drawn:
        return incident.trusted, f"waterline {short(incident.trusted)}"
    opened = incident.opened.trusted
    label = f"waterline at opening {short(opened)}"
    if opened in drawn:
        return opened, label
    return None, label if opened is not None and opened == incident.window.since else ""
