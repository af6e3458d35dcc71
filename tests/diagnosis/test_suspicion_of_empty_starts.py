"""The window that an incident opens with over a start without state: all of it, down to the trusted snapshot."""

from datetime import timedelta

import pytest

import bot.diagnosis
from bot.diagnosis import restarted_from_empty
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import Matches, Remedy
from bot.domain.ids import DRAINED, OperatorId
from bot.domain.suspicion import Suspicion, propose_window
from tests.cases import Tale
from tests.found import orphans

OTHER_SINK = OperatorId("ee" * 16)


def proposed(tale: Tale) -> Suspicion:
    return propose_window(tale.table, tale.jobs)


def ran(*, v1: bool = False) -> Tale:
    """`a` committed 1 to 5 and was cancelled."""
    return Tale().flink_runs("a", v1=v1).commits("a", *range(1, 6)).becomes("a", "CANCELED")


def started_empty(commits: int = 3) -> Tale:
    """`b` runs without state on top of what `a` committed."""
    return ran().flink_runs("b").commits("b", *range(1, commits + 1))


@pytest.mark.parametrize("commits", [3, 40], ids=["near the head", "long ago"])
def test_a_start_without_state_is_suspected_at_any_depth(commits: int) -> None:
    """Consumers are pinned below its first commit, where the window begins."""
    tale = started_empty(commits)

    found = proposed(tale)

    assert (tale.at("a", 5), tale.at("a", 5)) == (found.window.since, found.trusted)
    assert "Run bbbbbb was started without state although run aaaaaa had committed checkpoint 5" in found.because


def test_the_window_and_the_diagnosis_agree() -> None:
    """In its window it is F15, however clean the evidence is."""
    tale = started_empty(40)

    told = diagnose(tale.looked_at(since=proposed(tale).window.since), scan(bot.diagnosis))

    assert ["F15"] == [mode.code for mode, _match in told.matches]


def test_flink_tells_a_start_whose_first_ids_brought_nothing() -> None:
    """It was never restored, and first committed checkpoint 3."""
    tale = ran().flink_runs("b").commits("b", *range(3, 40))

    found = proposed(tale)

    assert tale.at("a", 5) == found.trusted


def test_ids_that_begin_at_one_are_enough_when_flink_is_down() -> None:
    """After any restore the first id is higher."""
    tale = started_empty(40).flink_is_down()

    found = proposed(tale)

    assert tale.at("a", 5) == found.trusted
    assert "Flink was not asked" in found.because


def test_a_start_under_the_same_job_id_is_suspected() -> None:
    """The V1 sink commits what it brings."""
    tale = ran(v1=True)
    below = tale.head
    tale.starts_again("a", v1=True).commits("a", *range(1, 40))

    found = proposed(tale)

    assert below == found.trusted
    assert "although it had committed checkpoint 5" in found.because


@pytest.mark.parametrize(("restored", "since"), [(10, 5), (2, 2)])
def test_beside_a_rewind_the_lower_of_both_is_trusted(restored: int, since: int) -> None:
    """Neither fault lies below the trusted snapshot, and the window holds the first copies of the rewind."""
    tale = ran().flink_runs("b").commits("b", *range(3, 20))
    tale.flink_runs("c", restored=restored)
    tale.commits("c", *range(restored + 1, 30))

    found = proposed(tale)

    assert (tale.at("a", since), tale.at("a", 5)) == (found.window.since, found.trusted)


def test_below_a_trusted_waterline_it_is_over() -> None:
    """What was proven since is not suspected again."""
    tale = started_empty(40).trusts("b", 30)

    found = proposed(tale)

    assert tale.head == found.trusted


def guest_between() -> Tale:
    """A backfill under another name, which Flink does not list as the job's, wrote while `a` ran."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).commits("c", 1, 2)
    return tale.commits("a", *range(6, 40))


def second_sink() -> Tale:
    """`b` of another sink begins beside `a`."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6))
    for checkpoint in range(1, 30):
        tale.commits("c", checkpoint).by_sink(OTHER_SINK)
    return tale


def drained() -> Tale:
    """`a` ended on purpose before `b` began."""
    tale = Tale().flink_runs("a").commits("a", 1, DRAINED).becomes("a", "FINISHED")
    return tale.flink_runs("b").commits("b", *range(1, 30))


def ended() -> Tale:
    """`b` went on with the state of `a`; of it nothing but its end is known."""
    return ran().flink_runs("b").commits("b", *range(6, 30)).becomes("b", "FINISHED")


def silent() -> Tale:
    """`b` has committed nothing: the head is still right."""
    return ran().flink_runs("b")


def repeated() -> Tale:
    """Checkpoint 1 was committed twice."""
    return Tale().flink_runs("a").commits("a", 1, 1, *range(2, 30))


@pytest.mark.parametrize(
    "tale",
    [
        guest_between(),
        guest_between().flink_is_down(),
        guest_between().forgets("a"),
        second_sink(),
        drained(),
        ended(),
        silent(),
        repeated(),
    ],
    ids=["guest", "guest, no Flink", "guest, forgotten", "second sink", "drained", "ended", "silent", "repeated"],
)
def test_what_is_no_start_without_state_leaves_the_head_trusted(tale: Tale) -> None:
    """Another job's run, another sink, the run after a drained one, or one of which nothing tells."""
    found = proposed(tale)

    assert tale.head == found.trusted


def test_a_job_that_is_down_long_after_an_empty_start_is_brought_back() -> None:
    """The start was meant, and its rows are right: what is wrong today is that no run is alive."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b")
    tale.commits("b", *range(1, 60)).completes("b", 59)
    alive = restarted_from_empty.examine(tale.looked_at())
    down = restarted_from_empty.examine(tale.becomes("b", "FAILED").looked_at())

    assert isinstance(alive, Matches)
    assert isinstance(down, Matches)
    assert (Remedy.TELL_CONSUMERS, Remedy.RESTORE_JOB_ONLY) == (alive.remedy, down.remedy)


def down(last: Tale) -> tuple[Remedy, str]:
    """(remedy, last reason) of a start without state whose rows are right."""
    found = restarted_from_empty.examine(last.looked_at())
    assert isinstance(found, Matches)
    return found.remedy, found.reasons[-1]


def both_ended() -> Tale:
    """`b` had no state, its rows are right, and it has ended."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b")
    return tale.commits("b", 1, 2, 3).becomes("b", "CANCELED")


def test_no_job_is_brought_back_beside_a_run_that_flink_does_not_list() -> None:
    """The newest commits are by a run that goes on from `b`'s state, on a cluster that nobody asks."""
    remedy, said = down(both_ended().commits("c", 4, 5, 6))

    assert remedy is Remedy.TELL_CONSUMERS
    assert "whether run cccccc still writes the table" in said
    assert "look for it on every cluster" in said


def test_no_job_is_brought_back_while_rows_may_be_in_doubt() -> None:
    """Flink completed what no commit carries, and files lie there that nothing names."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b")
    tale.commits("b", 1, 2, 3).completes("b", 4, 5)
    tale.now += timedelta(minutes=1)
    tale.becomes("b", "FAILED")
    clean = restarted_from_empty.examine(tale.looked_at())
    left = restarted_from_empty.examine(tale.looked_at(orphans=orphans(3)))

    assert isinstance(clean, Matches)
    assert isinstance(left, Matches)
    assert (Remedy.RESTORE_JOB_ONLY, Remedy.TELL_CONSUMERS) == (clean.remedy, left.remedy)
    assert "3 orphan files" in left.reasons[-1]
