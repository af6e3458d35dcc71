"""Evidence of a window that ends below the head speaks of nothing above its end."""

import pytest

from bot.diagnosis import no_snapshot_advanced, recovered_by_itself, restored_from_older_savepoint
from bot.diagnosis._asked import answers, checked_until
from bot.diagnosis._last_good import rows_up_to
from bot.domain.asked_window import asked_window
from bot.domain.diagnosis import CannotTell, Case, Matches, Remedy
from bot.domain.ids import short
from bot.domain.last_good import LastGoodRows
from bot.domain.table import Window
from tests.cases import Tale
from tests.diagnosis.test_recovered_by_itself import pinned
from tests.found import ledger_of, points


def five() -> Tale:
    """A run that lives, and has committed five times."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)


def seen_through(tale: Tale, window: Window) -> Case:
    """All evidence looked at this window, at the present head."""
    case = tale.looked_at(pairing=points(), ledger=ledger_of(tale.table, window))
    assert tale.head is not None
    found = tuple(each.model_copy(update={"window": window}) for each in pinned(case, tale.head).evidence)
    return case.model_copy(update={"window": window, "evidence": found})


@pytest.mark.parametrize("until", [1, 2, 4])
def test_healthy_reaches_to_the_windows_end(until: int) -> None:
    """The rows above it were not read, so the head is not named, and the reader is told."""
    tale = five()
    end = tale.at("a", until)

    found = recovered_by_itself.examine(seen_through(tale, asked_window(f"..{end}", tale.table)))

    assert isinstance(found, Matches)
    assert found.headline.endswith(f"the table is complete up to {short(end)}.")
    assert end == found.last_good
    assert f"The window ends at {short(end)}; {5 - until} commit" in found.reasons[-1]
    assert "not vouched for" in found.reasons[-1]


def test_a_window_up_to_the_head_is_as_it_was() -> None:
    """Its end told by its id or left out."""
    tale = five()

    for text in (f"{tale.at('a', 1)}", f"{tale.at('a', 1)}..{tale.head}"):
        found = recovered_by_itself.examine(seen_through(tale, asked_window(text, tale.table)))

        assert isinstance(found, Matches)
        assert tale.head == found.last_good


@pytest.mark.parametrize("ends", [3, 2])
def test_rows_above_the_windows_end_are_not_called_clean(ends: int) -> None:
    """What other modes name as last good is held against the same evidence."""
    tale = five()
    case = seen_through(tale, asked_window(f"..{tale.at('a', ends)}", tale.table))

    told = rows_up_to(case, tale.at("a", 3))

    assert told is (LastGoodRows.CLEAN if ends == 3 else LastGoodRows.NOT_LOOKED_AT)


def test_no_advance_names_the_head_and_cannot_tell_from_a_window_below_it() -> None:
    """Whoever starts the job goes on from the head, whose rows were not read."""
    tale = five().becomes("a", "FAILED")
    whole = seen_through(tale, Window(since=None, until=tale.head))
    below = seen_through(tale, asked_window(f"..{tale.at('a', 4)}", tale.table))

    assert isinstance(no_snapshot_advanced.examine(whole), Matches)
    found = no_snapshot_advanced.examine(below)

    assert isinstance(found, CannotTell)
    assert f"the window ends at {short(tale.at('a', 4))}, below the head {short(tale.head)}" in found.missing[0]


def test_answers_of_two_windows_cover_what_both_have_read() -> None:
    """The end that lies further down counts."""
    tale = five()
    case = seen_through(tale, Window(since=None, until=tale.head))
    lower = {"window": Window(since=None, until=tale.at("a", 3))}
    mixed = tuple(e.model_copy(update=lower) if e.task == "missing_positions" else e for e in case.evidence)
    case = case.model_copy(update={"evidence": mixed})

    assert tale.head == checked_until(case, "duplicate_rows")
    assert tale.at("a", 3) == checked_until(case, "duplicate_rows", "missing_positions")


@pytest.mark.parametrize("turned", [True, False], ids=["ends turned round", "an end off main"])
def test_evidence_of_a_window_that_is_none_of_main_is_no_answer(turned: bool) -> None:
    """A recorded case may hold one from before such windows were refused."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4)
    if turned:
        window = Window(since=tale.at("a", 4), until=tale.at("a", 2))
    else:
        window = Window(since=tale.at("a", 1), until=tale.at("a", 4))
        tale.rolls_back_to("a", 2).commits("a", 5)
    case = seen_through(tale, window)

    assert not answers(case, "duplicate_rows")
    assert not isinstance(recovered_by_itself.examine(case), Matches)


def test_a_replay_is_not_called_harmless_by_a_window_that_ends_within_it() -> None:
    """The copies may lie above its end: what the replay calls for is not put off."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=4).commits("b", *range(5, 12)).completes("b", 11)
    below = asked_window(f"..{tale.at('b', 6)}", tale.table)

    whole, part = (
        restored_from_older_savepoint.examine(seen_through(tale, window))
        for window in (Window(since=None, until=tale.head), below)
    )

    assert isinstance(whole, Matches)
    assert isinstance(part, Matches)
    assert Remedy.DEDUPLICATE_ROWS is not whole.remedy
    assert Remedy.DEDUPLICATE_ROWS is part.remedy
