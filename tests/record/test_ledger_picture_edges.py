"""At a phone's edges nothing of the ledger's picture is cut off, and no words lie on others."""

from bot.domain.ids import DRAINED, CheckpointId, SnapshotId
from bot.domain.ledger import Ledger, LedgerRow
from bot.service.ledger_picture import Label, Picture, picture
from tests.record.test_ledger_picture import commit

WIDE = 6.6
"""Of a character, at most."""


def drawn(*rows: LedgerRow, line_at: int | None = None) -> Picture:
    """These commits, with the waterline above that one."""
    line = None if line_at is None else SnapshotId(line_at)
    label = "trusted" if line_at is not None else ""
    told = Ledger(rows=rows, readers_known=True, trailing=())
    return picture(told, line_at=line, label=label, taken_back=frozenset())


def spans(label: Label) -> tuple[float, float]:
    """From where to where it is written, at most."""
    width = len(label.text) * WIDE
    return (label.x - width, label.x) if label.anchor == "end" else (label.x, label.x + width)


def test_a_long_checkpoint_id_in_the_last_lane_is_read_whole() -> None:
    """A timestamp that somebody took for the first id has 13 digits."""
    rows = [commit(n, run) for n, run in enumerate("abcdef", 1)]
    told = drawn(*rows[:-1], rows[-1].model_copy(update={"checkpoint_id": CheckpointId(1_764_000_000_000)}))

    for label in told.labels:
        if label.style == "checkpoint":
            start, end = spans(label)
            assert 0 <= start < end <= told.width, label


def test_a_drained_run_says_so() -> None:
    """Nobody reads Long.MAX_VALUE out of nineteen digits."""
    told = drawn(commit(1), commit(2).model_copy(update={"checkpoint_id": DRAINED}))

    assert "drained" in {label.text for label in told.labels}


def test_the_waterline_is_named_beside_a_long_note() -> None:
    """The note of the commit right above the line is as wide as the picture lets it be."""
    told = drawn(commit(1), commit(2, refs=("wl-2026-11-21-left-behind-incident-17", "release-2026.11")), line_at=1)

    note = next(label for label in told.labels if label.style == "note")
    name = next(label for label in told.labels if label.style == "mark")
    assert spans(name)[1] <= spans(note)[0]
