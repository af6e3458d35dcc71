"""Who was told to read a snapshot is told when that one is doubted, too."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import open_store
from bot.domain.beside import ALONE, refuse_other_trust
from bot.domain.entries import IncidentClosed, NoticeQueued, WaterlineMoved
from bot.domain.errors import Refused
from bot.domain.ids import IncidentId, SnapshotId
from bot.domain.notice import Notice, NoticeData
from bot.service.duties import Duties
from bot.service.incident_store import IncidentStore
from bot.service.telling_rules import (
    LOWERED,
    NAMED_AGAIN,
    owes_lower_snapshot,
    owes_named_snapshot,
    owes_withdrawal,
)
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


LOWEST = orders.COMMITS[2][1]


@pytest.mark.parametrize(("to", "by_now"), [(LOWEST, f"that is {LOWEST}"), (None, "nobody knows by now which one is")])
def test_a_correction_that_was_rendered_before_the_mark_moved_on_is_not_sent(
    warned: Story, to: SnapshotId | None, by_now: str
) -> None:
    """It would be the last word, and tell them to read what is found wrong by now."""
    rendered = told("correction", orders.GOOD).notice
    warned.says(lowered(orders.GOOD)).says(lowered(to))

    assert owes_lower_snapshot(warned.incident)
    with pytest.raises(Refused, match=rf"names snapshot {orders.GOOD} as trusted; {by_now}.*Preview it again"):
        refuse_other_trust(warned.incident, [rendered], ALONE)


def test_one_that_names_where_the_mark_stood_before_is_made_up_for(warned: Story) -> None:
    """Only what names the present snapshot is the last word."""
    warned.says(lowered(orders.GOOD)).says(lowered(LOWEST)).says(told("correction", orders.GOOD))
    owed = [owes_lower_snapshot(warned.incident)]
    owed.append(owes_lower_snapshot(warned.says(told("correction", LOWEST, 2)).incident))

    assert owed == [True, False]


def test_it_is_made_up_for_once_where_the_next_one_cannot_name_it_either(warned: Story) -> None:
    """A later incident has the say in what is trusted: consumers are not told the same without end."""
    warned.says(lowered(orders.GOOD)).says(told("correction", orders.HEAD))
    owed = [owes_lower_snapshot(warned.incident)]
    owed.append(owes_lower_snapshot(warned.says(told("correction", orders.HEAD, 2)).incident))

    assert owed == [True, False]


def test_that_they_may_read_none_is_made_up_for_when_one_can_be_named_by_then(warned: Story) -> None:
    """Rendered while nobody knew one."""
    warned.says(lowered(None)).says(lowered(LOWEST)).says(told("correction", None))
    owed = [owes_named_snapshot(warned.incident)]
    owed.append(owes_named_snapshot(warned.says(told("correction", LOWEST, 2)).incident))

    assert owed == [True, False]


def test_who_was_told_anew_meanwhile_is_owed_nothing(warned: Story) -> None:
    """An update names what is to be read now."""
    warned.says(lowered(orders.GOOD)).says(told("update", orders.GOOD), by=ANA)

    assert not owes_lower_snapshot(warned.incident)


def test_who_was_told_to_read_none_is_told_once_when_one_can_be_named_again(warned: Story) -> None:
    """Otherwise they would wait for a snapshot that is there, or go on without the one that they had."""
    warned.says(lowered(None)).says(told("correction", None))
    owed = [owes_named_snapshot(warned.incident)]
    owed.append(owes_named_snapshot(warned.says(lowered(orders.GOOD)).incident))
    is_taken_back = owes_lower_snapshot(warned.incident)
    owed.append(owes_named_snapshot(warned.says(told("correction", orders.GOOD, 2)).incident))

    assert owed == [False, True, False]
    assert not is_taken_back
    assert not owes_lower_snapshot(warned.incident)


def test_both_are_sent_by_themselves_in_their_own_words_and_once(warned: Story) -> None:
    """However often it is looked at."""
    store, sent = IncidentStore(warned.journal, SystemClock()), list[str]()

    def sends(_incident: IncidentId, words: str, **_how: object) -> None:
        sent.append(words)
        warned.says(told("correction", warned.incident.trusted, len(sent)))

    nobody: Any = None
    telling: Any = SimpleNamespace(
        preview=lambda _i, _kind, words: words, send=sends, owes_first_warning=None, owes_severity=None
    )
    still: Any = SimpleNamespace(settle=None, supersede_if_moved=None)
    duties = Duties(
        store, nobody, still, still, still, still, nobody, nobody, nobody, nobody, telling, nobody, nobody, nobody,
    )  # fmt: skip
    for moved in (lowered(None), lowered(orders.GOOD)):
        warned.says(moved)
        duties._withdraw(warned.id)
        duties._withdraw(warned.id)

    assert sent == [LOWERED, NAMED_AGAIN]


def test_who_was_told_by_a_person_meanwhile_which_one_to_read_is_owed_nothing(warned: Story) -> None:
    """An update names it."""
    warned.says(lowered(None)).says(told("correction", None)).says(lowered(orders.GOOD))

    assert not owes_named_snapshot(warned.says(told("update", orders.GOOD), by=ANA).incident)


def test_who_was_never_told_to_read_one_waits_for_the_next_word(tmp_path: Path) -> None:
    """Nothing was taken from them: that one is known now is no correction."""
    with closing(open_store(f"sqlite:///{tmp_path / 'other.db'}")) as store:
        story = Story(store.journal).opens(trusted=None).says(told("first_warning", None)).says(lowered(orders.GOOD))

        assert not owes_named_snapshot(story.incident)


@pytest.mark.parametrize("end", [WaterlineMoved(snapshot=orders.HEAD, status="trusted"), IncidentClosed(reason="done")])
def test_what_is_proven_or_closed_owes_none(warned: Story, end: WaterlineMoved | IncidentClosed) -> None:
    """A proof is told by its own message."""
    assert not owes_lower_snapshot(warned.says(lowered(orders.GOOD)).says(end).incident)
    assert not owes_named_snapshot(warned.incident)
