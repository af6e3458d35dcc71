"""What counts as newer than what an incident left: told by the snapshot log, and by what the incident itself named."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.diagnosis import Diagnosis, Matches, ModeResult, Remedy
from bot.domain.entries import Diagnosed, IncidentClosed, WaterlineMoved
from bot.domain.ids import SnapshotId
from bot.domain.table import HeadMove
from bot.domain.watch import Sign, came_again, goes_on, is_all_told, recall
from tests.cases import Tale
from tests.decisions import F2
from tests.incidents import Story
from tests.watch.signs import sighted, sign


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """An incident is open, on a head that these tables do not list."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens()


def ending_at(newest: SnapshotId | None, *rows: SnapshotId) -> Sign:
    """A fault whose newest commit is that one."""
    return sign("F2").model_copy(update={"newest_wrong": newest, "rows": rows})


def closes(story: Story, proven: SnapshotId) -> Story:
    """The incident has proven that commit."""
    return story.says(WaterlineMoved(snapshot=proven, status="trusted"), IncidentClosed(reason="done"))


def named(newest: SnapshotId) -> Diagnosed:
    """The incident's own diagnosis of the same fault."""
    match = Matches(
        headline="", reasons=(), rows=(), last_good=None, wrong_run=None, remedy=Remedy.NOTHING, newest_wrong=newest
    )
    return Diagnosed(diagnosis=Diagnosis(results=(ModeResult(mode=F2, examined=match),)))


def rewound() -> Tale:
    """Main was taken back from 5 to 3 while an incident was open, which proved 3."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).rolls_back_to("a", 3)


@pytest.mark.parametrize("is_named", [True, False])
def test_what_the_incident_named_itself_is_not_new_to_it(is_named: bool, story: Story) -> None:
    """Though it lies above the commit that was proven: that is where main was taken back to."""
    tale = rewound()
    if is_named:
        story.says(named(tale.at("a", 5)))
    told = sighted(ending_at(tale.at("a", 2)), at=story.now)

    closed = closes(story, tale.at("a", 3)).incident

    assert came_again(ending_at(tale.at("a", 5)), told, closed, tale.table) is not is_named


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("is_told", [True, False])
def test_what_another_incident_named_and_left_is_not_told(is_told: bool, is_named: bool, story: Story) -> None:
    """Whether or not the watch has told of the fault before that: people have looked at it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    memory = recall([sighted(ending_at(tale.at("a", 1)), at=story.now)] if is_told else [])
    first = closes(story, tale.at("a", 2)).incident
    second = Story(story.journal, start=story.now + timedelta(hours=1)).opens()
    if is_named:
        second.says(named(tale.at("a", 3)))

    def is_known(checkpoint: int) -> bool:
        return goes_on(ending_at(tale.at("a", checkpoint)), memory, [first, second.incident], tale.table)

    while_open = is_known(3)
    closes(second, tale.at("a", 4))

    assert not while_open
    assert [is_known(each) for each in (3, 4, 5)] == [is_named, is_named, False]
    assert not goes_on(ending_at(None), recall([]), [first, second.incident], tale.table)


def test_a_clock_that_is_behind_makes_nothing_new_of_what_was_left(story: Story) -> None:
    """By the bot's clock main was set back only after the incident was closed, which was about just that."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 2)
    told = sighted(ending_at(tale.at("a", 3)), at=story.now)
    story.now = tale.moves[-1].at - timedelta(minutes=1, seconds=5)

    closed = story.says(IncidentClosed(reason="accepted")).incident

    assert not came_again(ending_at(tale.at("a", 3)), told, closed, tale.table)


def test_what_main_lost_after_an_incident_that_proved_nothing_is_new(story: Story) -> None:
    """Its head at the close is lost itself."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    told = sighted(ending_at(tale.at("a", 1)), at=story.now)
    story.now = tale.now - timedelta(seconds=55)
    closed = story.says(IncidentClosed(reason="accepted")).incident
    lost = tale.at("a", 3)
    tale.rolls_back_to("a", 2)

    assert came_again(ending_at(lost), told, closed, tale.table)


def test_what_an_old_note_showed_is_not_new(story: Story) -> None:
    """It names the commits that show the fault, and not which is its newest."""
    tale = rewound()
    told = sighted(ending_at(None, tale.at("a", 4), tale.at("a", 5)), at=story.now)

    closed = closes(story, tale.at("a", 3)).incident

    assert not came_again(ending_at(tale.at("a", 5)), told, closed, tale.table)


def test_a_commit_of_a_branch_came_to_main_when_that_was_published(story: Story) -> None:
    """The log has no line of it: main went over it with the commit above."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    told = sighted(ending_at(tale.at("a", 1)), at=story.now)
    closed = closes(story, tale.at("a", 3)).incident
    log = tale.moves

    def is_new(checkpoint: int, *left_out: int) -> bool:
        gone = {tale.at("a", each) for each in left_out}
        tale.moves = [move for move in log if move.snapshot_id not in gone]
        return came_again(ending_at(tale.at("a", checkpoint)), told, closed, tale.table)

    assert is_new(4, 4)
    assert not is_new(2, 2)
    assert not is_new(2, 1, 2, 3)


def test_a_fault_that_concerns_something_else_now_is_told_if_it_has_grown(story: Story) -> None:
    """As long as no incident has looked into it; a mode that names no commit is told by what it concerns alone."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    told = sighted(ending_at(tale.at("a", 2)), at=story.now)
    asked = [ending_at(tale.at("a", 2)), ending_at(tale.at("a", 3)), ending_at(None)]

    assert [True, False, False] == [is_all_told(each, told, None, tale.table) for each in asked]
    assert [True, False, False] == [is_all_told(each, told, story.incident, tale.table) for each in asked]
    closed = closes(story, tale.at("a", 3)).incident
    assert [True, True, False] == [is_all_told(each, told, closed, tale.table) for each in asked]


def test_an_old_sign_stays_as_it_was_written() -> None:
    """Notes are compared as text: a field that says nothing is not written."""
    assert "newest_wrong" not in ending_at(None).model_dump(mode="json")
    assert 7 == ending_at(SnapshotId(7)).model_dump(mode="json")["newest_wrong"]


def test_the_log_is_read_by_the_first_line_of_each_commit(story: Story) -> None:
    """Main set back to what was proven: the log names that once more, below what was lost."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4)
    told = sighted(ending_at(tale.at("a", 1)), at=story.now)
    closed = closes(story, tale.at("a", 3)).incident
    lost = tale.at("a", 4)
    tale.rolls_back_to("a", 3)

    assert HeadMove(at=tale.now, snapshot_id=tale.at("a", 3)) == tale.moves[-1]
    assert came_again(ending_at(lost), told, closed, tale.table)
