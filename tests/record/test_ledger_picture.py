"""The ledger's picture: who wrote what, what is gone or missing, and who read it, on a phone's width."""

import io
from datetime import timedelta

from PIL import Image

from bot.observation.ids import DRAINED, CheckpointId, SnapshotId
from bot.observation.ledger import Ledger, LedgerRow, SkippedCheckpoint, SkipReason
from bot.observation.readers import ReadRun
from bot.service.ledger_picture import MOST, Commit, Label, Missing, Picture, Stretch, marks_of, picture
from bot.slack.pictures import png
from tests import orders_table as orders


def commit(number: int, run: str = "a", *, parent: int | None = None, **changes: object) -> LedgerRow:
    """A commit of that number and checkpoint, on the one before unless another parent is named."""
    row = LedgerRow(
        snapshot_id=SnapshotId(number), parent_id=SnapshotId(number - 1 if parent is None else parent),
        sequence_number=number, committed_at=orders.NINE + timedelta(seconds=number), on_main=True,
        operation="append", engine="flink", job_id=(run * 32)[:32], operator_id=None,
        checkpoint_id=CheckpointId(number), added_files=1, added_rows=10,
    )  # fmt: skip
    return row.model_copy(update=changes)


def ledger(*rows: LedgerRow, trailing: tuple[SkippedCheckpoint, ...] = ()) -> Ledger:
    return Ledger(rows=rows, readers_known=True, trailing=trailing)


def gap(first: int, last: int, reason: SkipReason) -> SkippedCheckpoint:
    """Ids of run b without a commit."""
    return SkippedCheckpoint(
        first=CheckpointId(first), last=CheckpointId(last), reason=reason, detail="", job_id=orders.RUN_B
    )


def drawn(told: Ledger) -> Picture:
    """Without any trusted snapshot."""
    return picture(told, line_at=None, label="", taken_back=frozenset())


def texts(told: Picture) -> list[str]:
    return [label.text for label in told.labels]


def spans(label: Label) -> tuple[float, float]:
    """From where to where it is written, at most."""
    wide = len(label.text) * 6.6
    start = {"start": label.x, "middle": label.x - wide / 2, "end": label.x - wide}[label.anchor]
    return start, start + wide


def test_a_long_quiet_run_is_folded_and_what_happened_is_not() -> None:
    """Of a hundred commits: both ends, the one that was read, and nothing but stretches between."""
    read = ReadRun(consumer="revenue_daily", run_id="r", at=orders.NINE, snapshot_id=SnapshotId(50))
    rows = [commit(n, readers=(read,) if n == 50 else ()) for n in range(1, 101)]

    marks, left_out = marks_of(ledger(*rows), gone=set(), line_at=None)

    shown = [
        m.row.checkpoint_id if isinstance(m, Commit) else m.checkpoints for m in marks if not isinstance(m, Missing)
    ]
    assert shown == [1, "2–49", 50, "51–99", 100]
    assert left_out == 0


def test_nothing_that_matters_is_folded() -> None:
    """A change of run, a rollback, a ref, a missing checkpoint and the waterline's place each keep their commits."""
    rows = [commit(n, "a" if n < 30 else "b") for n in range(1, 61)]
    rows[9] = commit(10, refs=("wl-1-left",))
    rows[44] = commit(45, "b", skipped=(gap(43, 43, SkipReason.LEAKED),))

    marks, _ = marks_of(ledger(*rows), gone=set(), line_at=SnapshotId(20))

    alone = {int(mark.row.snapshot_id) for mark in marks if isinstance(mark, Commit)}
    assert {1, 10, 20, 21, 29, 30, 44, 45, 60} <= alone
    assert [mark.skipped.words for mark in marks if isinstance(mark, Missing)] == ["43 leaked"]
    assert sum(len(mark.rows) for mark in marks if isinstance(mark, Stretch)) + len(alone) == 60


def test_what_is_left_out_is_counted() -> None:
    """Where every commit is something, the newest are drawn."""
    rows = [commit(n, "ab"[n % 2]) for n in range(1, 101)]

    told = drawn(ledger(*rows))

    assert told.left_out == 100 - MOST
    assert "70 older commits are not drawn" in texts(told)
    assert ". 70 older commits are not drawn. " in told.alt
    assert str(100) in texts(told)
    assert str(100 - MOST) not in texts(told)


def test_each_writer_has_a_shape_of_its_own() -> None:
    """Colour is never the only sign: outlines of two lanes differ by more than their place."""
    told = drawn(ledger(commit(1, "a"), commit(2, "b"), commit(3, "c"), commit(4, "d"), commit(5, "e"), commit(6, "f")))

    outlines = {
        tuple((round(x - shape.points[0][0], 1), round(y - shape.points[0][1], 1)) for x, y in shape.points)
        for shape in told.shapes
    }
    assert len(outlines) == 6


def test_rolled_back_commits_leave_the_lane_hollow_and_dashed() -> None:
    """They stand aside, so that main's own line does not run through them."""
    told = drawn(ledger(commit(1), commit(2, on_main=False), commit(3, parent=1)))

    hollow = [shape for shape in told.shapes if shape.is_hollow]
    assert len(hollow) == 1
    assert min(x for x, _ in hollow[0].points) > max(
        min(x for x, _ in s.points) for s in told.shapes if not s.is_hollow
    )
    assert [stroke.style for stroke in told.strokes] == ["gone", "link"]
    assert "2 rolled back" in texts(told)


def test_missing_checkpoints_and_readers_are_written_beside_their_commits() -> None:
    """Only what may be lost is marked; empty checkpoints are in the table."""
    read = ReadRun(consumer="revenue_daily", run_id="r", at=orders.NINE, snapshot_id=SnapshotId(5))
    skipped = (gap(2, 3, SkipReason.LEAKED), gap(4, 4, SkipReason.NO_MANIFEST))
    told = drawn(ledger(commit(1), commit(5, parent=1, skipped=skipped, readers=(read,)),
                        trailing=(gap(6, 7, SkipReason.SKIPPED), gap(8, 8, SkipReason.PENDING))))  # fmt: skip

    shown = texts(told)
    assert {"2–3 leaked", "6–7 skipped", "read by revenue_daily"} <= {*shown}
    assert not [text for text in shown if "manifest" in text or "pending" in text]


def test_readers_that_nobody_could_ask_for_are_not_told_as_none() -> None:
    """That no reader is drawn means nothing then, and the words say so."""
    known, unknown = (drawn(Ledger(rows=(commit(1),), readers_known=known)) for known in (True, False))

    assert "unknown" not in known.alt
    assert "Who read them is unknown." in unknown.alt


def test_everything_is_inside_the_picture() -> None:
    """Many writers, long names and long ids reach no edge: somebody took a timestamp for the first checkpoint id."""
    reads = tuple(
        ReadRun(consumer=f"a_consumer_with_a_long_name_{n}", run_id="r", at=orders.NINE, snapshot_id=SnapshotId(8))
        for n in range(5)
    )
    rows = [commit(n, "abcdefgh"[n - 1]) for n in range(1, 9)]
    rows[5] = commit(6, "f", checkpoint_id=CheckpointId(1_764_000_000_000))
    rows[7] = commit(8, "h", readers=reads, skipped=(gap(10**12, 10**12 + 5, SkipReason.LEAKED),))

    told = drawn(ledger(*rows))

    assert told.width == 360
    for shape in told.shapes:
        assert all(0 <= x <= told.width and 0 <= y <= told.height for x, y in shape.points)
    for label in told.labels:
        start, end = spans(label)
        slack = 0 if label.style == "checkpoint" else 8
        assert -slack <= start <= end <= told.width + slack, label


def test_the_picture_says_itself_in_words() -> None:
    """Who cannot see it learns the same: writers, checkpoints, what is gone, what is missing, who read."""
    read = ReadRun(consumer="revenue_daily", run_id="r", at=orders.NINE, snapshot_id=SnapshotId(1))
    rows = (commit(1, readers=(read,)), commit(2, on_main=False), commit(3, "b", parent=1))

    alt = drawn(ledger(*rows, trailing=(gap(4, 5, SkipReason.SKIPPED),))).alt

    assert alt == (
        "3 commits from 3 Nov 2026, 09:00:01 UTC to 09:00:03 UTC. Run aaaaaa committed checkpoints 1 to 2. Run bbbbbb "
        "committed checkpoint 3. 1 of them no longer in the table. Checkpoints 4–5 skipped. Revenue_daily read …1. No "
        "snapshot is trusted."
    )


def test_the_day_is_said_where_another_one_begins() -> None:
    """Once above the newest mark, and on a line of its own above the first of each older day; in words too."""
    night = timedelta(hours=-10)
    rows = (*(commit(n, committed_at=orders.NINE + night) for n in (1, 2)), commit(3), commit(4))

    told = drawn(ledger(*rows, trailing=(gap(5, 5, SkipReason.SKIPPED),)))

    days = {label.text: label.y for label in told.labels if "2026" in label.text}
    times = [label.y for label in told.labels if label.text in ("09:00:04", "09:00:03", "23:00:00")]
    assert ["3 Nov 2026", "2 Nov 2026"] == list(days)
    assert days["3 Nov 2026"] < min(times)
    assert times[1] < days["2 Nov 2026"] < times[2]
    assert told.alt.startswith("4 commits from 2 Nov 2026, 23:00:00 UTC to 3 Nov, 09:00:04 UTC. ")
    of_one_day = drawn(ledger(commit(1), commit(2)))
    assert ["3 Nov 2026"] == [label.text for label in of_one_day.labels if "2026" in label.text]


def test_the_png_shows_lanes_in_their_colours_and_the_water() -> None:
    """Twice the size for dense screens; the colours of two writers and of the water are there."""
    told = picture(orders.ledger(), line_at=orders.GOOD, label="waterline", taken_back=frozenset())

    image = Image.open(io.BytesIO(png(told))).convert("RGB")

    assert image.size == (720, round(told.height * 2))
    colours = {colour for _, colour in image.getcolors(100_000) or []}
    for red, green, blue in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00), (0xD8, 0xEE, 0xF3)):
        assert any(abs(r - red) + abs(g - green) + abs(b - blue) < 24 for r, g, b in colours)


def test_an_empty_ledger_has_a_picture() -> None:
    """Nothing was committed, and that is said."""
    told = drawn(ledger())

    assert told.alt == "No commit in the window."
    assert png(told).startswith(b"\x89PNG")


def test_a_drained_run_says_so() -> None:
    """Nobody reads Long.MAX_VALUE out of nineteen digits."""
    told = drawn(ledger(commit(1), commit(2, checkpoint_id=DRAINED)))

    assert "drained" in {label.text for label in told.labels}


def test_the_waterline_is_named_beside_a_long_note() -> None:
    """The note of the commit right above the line is as wide as the picture lets it be."""
    rows = commit(1), commit(2, refs=("wl-2026-11-21-left-behind-incident-17", "release-2026.11"))
    told = picture(ledger(*rows), line_at=SnapshotId(1), label="trusted", taken_back=frozenset())

    note = next(label for label in told.labels if label.style == "note")
    name = next(label for label in told.labels if label.style == "mark")
    assert spans(name)[1] <= spans(note)[0]
