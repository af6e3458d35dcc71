"""Promised freshness and lateness are held against the incident: the worst look counts, and a pause without rows."""

from tests import orders_table as orders
from tests.incidents import Story
from tests.record.promised_terms import FRESH, LATE, MINUTE, fresh, late, terms, with_table


def test_a_table_that_was_once_too_old_is_not_fresh(story: Story) -> None:
    """The worst look counts; the newest tells how it ended."""
    fresh(fresh(story.opens(), 1200), 60)

    found = terms(story, freshness=15 * MINUTE)[FRESH]

    assert found.holds is False
    assert "20 min old" in found.observed
    assert "it was 1 min old" in found.observed


def test_a_pause_without_rows_breaks_freshness_without_any_evidence(story: Story) -> None:
    """Nothing newer can have come: from run B's last commit until the metadata was read."""
    paused = with_table(read_at=orders.NINE + 15 * MINUTE)

    found = terms(story.opens(), paused, freshness=15 * MINUTE)[FRESH]

    assert found.holds is False
    assert "From 08:58 UTC to 09:15 UTC, for 17 min, no commit on main brought rows." in found.observed


def test_commits_alone_never_show_that_a_table_is_fresh(story: Story) -> None:
    """Old events may come in new commits: without evidence it is not observed, and the reason is said."""
    found = terms(story.opens(), freshness=15 * MINUTE)[FRESH]
    asked = terms(fresh(story, None, "Nothing tells it."), freshness=15 * MINUTE)[FRESH]

    assert (found.holds, asked.holds) == (None, None)
    assert "Not observed. The evidence `freshness` shows it; nobody ran it." in found.observed
    assert "it answered: Nothing tells it." in asked.observed


def test_compactions_and_empty_commits_bring_nothing_fresh(story: Story) -> None:
    """They end no pause."""
    *before, last = orders.snapshots()
    later = [
        last.model_copy(update={"committed_at": orders.NINE + 8 * MINUTE, "operation": "replace"}),
        last.model_copy(
            update={"committed_at": orders.NINE + 8 * MINUTE, "summary": {"flink.job-id": orders.RUN_B}}
        ),
    ]  # fmt: skip

    found = [
        terms(story.opens() if not story.id else story, with_table(
            snapshots=(*before, end), read_at=orders.NINE + 15 * MINUTE
        ), freshness=15 * MINUTE)[FRESH].holds
        for end in (*later, last.model_copy(update={"committed_at": orders.NINE + 8 * MINUTE}))
    ]  # fmt: skip

    assert found == [False, False, None]


def test_rows_that_came_too_late_break_the_promise(story: Story) -> None:
    """Held against what is promised now; nobody who looked is not kept."""
    story.opens()

    unasked = terms(story, late_after=5 * MINUTE)[LATE]
    kept = terms(late(story, 200, allowed_s=0), late_after=5 * MINUTE)[LATE]
    broken = terms(late(story, 301), late_after=5 * MINUTE)[LATE]
    wider = terms(story, late_after=6 * MINUTE)["No row comes later than 6 min after newer ones."]

    assert [each.holds for each in (unasked, kept, broken, wider)] == [None, True, False, True]
    assert "Not observed. The evidence `late_rows` shows it; nobody ran it." in unasked.observed
    assert not any("comes later" in term for term in terms(story))


def test_what_was_not_late_under_a_wider_promise_is_not_told(story: Story) -> None:
    """None later than ten minutes says nothing of five."""
    late(story.opens(), None, allowed_s=600)

    assert terms(story, late_after=5 * MINUTE)[LATE].holds is None
    assert terms(story, late_after=10 * MINUTE)["No row comes later than 10 min after newer ones."].holds is True
