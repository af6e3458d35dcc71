"""Who was told to read a snapshot is told when that one is doubted, too."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import IncidentClosed, NoticeQueued, WaterlineMoved
from bot.domain.ids import SnapshotId
from bot.domain.notice import Notice, NoticeData
from bot.service.telling_rules import owes_known_snapshot, owes_lower_snapshot, owes_withdrawal
from tests import orders_table as orders
from tests.decisions import ANA
from tests.incidents import Story


def told(kind: str, snapshot: SnapshotId | None, revision: int = 1) -> NoticeQueued:
    """revenue_daily is told to read it."""
    data = NoticeData(stage="investigating", trusted_snapshot=snapshot)
    text = "Read the snapshot."
    return NoticeQueued(
        notice=Notice(
            kind=kind, revision=revision, consumer="revenue_daily", channel="C0REVENUE2", text=text, data=data
        )
    )


def lowered(to: SnapshotId | None) -> WaterlineMoved:
    """A fault was named below."""
    return WaterlineMoved(snapshot=to, status="under-review")


@pytest.fixture
def warned(tmp_path: Path) -> Iterator[Story]:
    """The first warning names the head."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens(trusted=orders.HEAD).says(told("first_warning", orders.HEAD))


@pytest.mark.parametrize("to", [orders.GOOD, None])
def test_who_was_told_to_read_what_is_wrong_too_is_owed_a_correction_once(warned: Story, to: SnapshotId | None) -> None:
    """As soon as the mark has moved down, and not again."""
    owed = [owes_lower_snapshot(warned.incident)]
    owed.append(owes_lower_snapshot(warned.says(lowered(to)).incident))
    owed.append(owes_lower_snapshot(warned.says(told("correction", to)).incident))

    assert owed == [False, True, False]
    assert not owes_withdrawal(warned.incident)


def test_a_correction_that_went_out_before_says_nothing_of_the_next_move(warned: Story) -> None:
    """Each time it goes further down."""
    warned.says(lowered(orders.GOOD)).says(told("correction", orders.GOOD))

    assert owes_lower_snapshot(warned.says(lowered(orders.COMMITS[2][1])).incident)


def test_who_was_told_anew_meanwhile_is_owed_nothing(warned: Story) -> None:
    """An update names what is to be read now."""
    warned.says(lowered(orders.GOOD)).says(told("update", orders.GOOD), by=ANA)

    assert not owes_lower_snapshot(warned.incident)


def test_who_was_left_without_a_snapshot_is_told_once_when_one_is_known_again(warned: Story) -> None:
    """They hold back everything until then. Nothing is taken back by it."""
    warned.says(lowered(None)).says(told("correction", None))
    owed = [owes_known_snapshot(warned.incident)]
    owed.append(owes_known_snapshot(warned.says(lowered(orders.GOOD)).incident))
    assert not owes_lower_snapshot(warned.incident)
    owed.append(owes_known_snapshot(warned.says(told("correction", orders.GOOD, revision=2)).incident))

    assert owed == [False, True, False]


def test_who_never_heard_that_there_is_none_is_not_told_that_there_is_one(warned: Story) -> None:
    """The mark was away for a moment only."""
    warned.says(lowered(None)).says(lowered(orders.HEAD))

    assert not owes_known_snapshot(warned.incident)


@pytest.mark.parametrize("end", [WaterlineMoved(snapshot=orders.HEAD, status="trusted"), IncidentClosed(reason="done")])
def test_what_is_proven_or_closed_owes_none(warned: Story, end: WaterlineMoved | IncidentClosed) -> None:
    """A proof is told by its own message."""
    assert not owes_lower_snapshot(warned.says(lowered(orders.GOOD)).says(end).incident)
