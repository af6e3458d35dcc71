"""F11: completed checkpoints wait for their commit; told from a quiet source and from commits that never come."""

import pytest

from bot.diagnosis import commit_not_made_yet as mode
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.flink import CheckpointKind
from bot.domain.ids import DRAINED
from tests.cases import Tale
from tests.found import leaks, points


def waiting(upto: int) -> Tale:
    """2 is committed; Flink completed the rest, and their manifests are on storage."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", *range(3, upto + 1))
    return tale.leaves_manifest("a", *range(3, upto + 1))


@pytest.mark.parametrize(("upto", "remedy"), [(5, Remedy.WAIT), (13, Remedy.WAIT), (14, Remedy.RESTORE_JOB_ONLY)])
def test_what_waits_is_committed_by_the_next_checkpoint_or_by_a_restart(upto: int, remedy: Remedy) -> None:
    """Beyond the longest silence that a quiet source explains, waiting no longer helps."""
    tale = waiting(upto)

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert (remedy, tale.head, None) == (found.remedy, found.last_good, found.wrong_run)
    assert any("Do not remove orphan files" in reason for reason in found.reasons)


@pytest.mark.parametrize("failed", [0, 5, 60, 300])
@pytest.mark.parametrize("is_v1", [False, True])
def test_failures_of_long_ago_do_not_keep_people_waiting(failed: int, is_v1: bool) -> None:
    """Flink counts them for the run's whole life, and lists the newest ten."""
    tale = Tale().flink_runs("a", v1=is_v1).commits("a", 1, 2).completes("a", *range(3, 31))
    tale.leaves_manifest("a", *range(3, 31))
    tale._change("a", checkpoints=tale.runs["a"].checkpoints[:10], failed_count=failed)

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert found.remedy is Remedy.RESTORE_JOB_ONLY


def test_a_restart_needs_no_restore_point_that_nobody_has_seen() -> None:
    """A run with all its operators running takes a savepoint as it stops; else a point must be found, and what waits is
    never given up by a start without state."""
    running = mode.examine(waiting(14).looked_at(pairing=points()))
    down = waiting(14).becomes("a", "RESTARTING")
    unseen, none = mode.examine(down.looked_at()), mode.examine(down.looked_at(pairing=points()))

    told = [found.what_to_do for found in (running, unseen, none) if isinstance(found, Matches)]
    words = ("stop the job with a savepoint", "look which restore point", "find a restore point elsewhere")
    assert [True, True, True] == [text.startswith(begin) for begin, text in zip(words, told, strict=True)]
    assert "do not start without state" in told[-1]


@pytest.mark.parametrize("upto", [2, 3, 4])
def test_the_newest_checkpoints_are_on_their_way(upto: int) -> None:
    """The commit follows a completed checkpoint within moments."""
    found = mode.examine(waiting(upto).looked_at())

    assert isinstance(found, Excluded)


def test_a_quiet_source_leaves_no_manifest() -> None:
    """Checkpoints without rows wait for nothing."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", *range(3, 12))

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Excluded)
    assert "carried no rows" in found.reason


def test_one_manifest_that_waits_for_too_long_is_enough() -> None:
    """A busy source may complete few checkpoints; evidence knows how long the manifest has waited."""
    tale = waiting(4)
    found = leaks(*tale.manifests)
    late = found.manifests[0].model_copy(update={"is_overdue": True})

    young = mode.examine(tale.looked_at())
    old = mode.examine(tale.looked_at(leaked=found.model_copy(update={"manifests": (late,)})))

    assert isinstance(young, Excluded)
    assert isinstance(old, Matches)


def test_manifests_of_another_run_are_not_this_runs() -> None:
    """They are leaked, not waiting."""
    tale = Tale().flink_runs("b").flink_runs("a").commits("a", 1, 2).completes("a", 3, 4, 5).leaves_manifest("b", 3, 4)

    found = mode.examine(tale.becomes("b", "CANCELED").looked_at())

    assert isinstance(found, Excluded)


@pytest.mark.parametrize(
    ("tale", "code"),
    [
        (Tale().flink_runs("a").commits("a", *range(1, 11)).flink_runs("a", restored=4), "restored from below"),
        (Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").starts_again("a"), "without state"),
        (Tale().flink_runs("a", v1=True).commits("a", DRAINED).flink_runs("a", restored=1, v1=True), "F5"),
    ],
)
def test_commits_that_never_come_are_not_waited_for(tale: Tale, code: str) -> None:
    """F3, F4 and F5 look the same from outside, and waiting cures none of them."""
    tale.completes("a", 5, 6, 7, 8).leaves_manifest("a", 5, 6, 7, 8)

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Excluded)
    assert code in found.reason


def test_without_a_listing_a_silence_is_neither_waiting_nor_quiet() -> None:
    """Only the manifests on storage tell which."""
    tale = waiting(6)
    tale.storage_down = True

    found = mode.examine(tale.looked_at())

    assert isinstance(found, CannotTell)
    assert "It timed out" in found.missing[0]


def test_nothing_is_waited_for_where_no_run_is_alive() -> None:
    """And nothing is said where Flink cannot be asked."""
    assert isinstance(mode.examine(waiting(6).becomes("a", "FAILED").looked_at()), Excluded)
    assert isinstance(mode.examine(waiting(6).flink_is_down().looked_at()), CannotTell)


def told_as(tale: Tale, **change: object) -> Tale:
    """Four of the checkpoints in between are told otherwise."""
    listed = tale.runs["a"].checkpoints
    some = tuple(c.model_copy(update=change) if c.checkpoint_id in (4, 6, 8, 10) else c for c in listed)
    tale._change("a", checkpoints=some)
    return tale


def v1() -> Tale:
    """Of `waiting`, with the V1 sink."""
    tale = waiting(16)
    tale._change("a", vertices=Tale().flink_runs("a", v1=True).runs["a"].vertices)
    return tale


@pytest.mark.parametrize(
    ("tale", "remedy"),
    [
        (told_as(waiting(16), status="FAILED"), Remedy.WAIT),
        (told_as(v1(), kind=CheckpointKind.SAVEPOINT), Remedy.WAIT),
        (told_as(waiting(16), kind=CheckpointKind.SAVEPOINT), Remedy.RESTORE_JOB_ONLY),
        (v1(), Remedy.RESTORE_JOB_ONLY),
    ],
    ids=["failed", "savepoints under V1", "savepoints under V2", "V1"],
)
def test_commits_are_waited_for_as_long_as_the_sink_counts(tale: Tale, remedy: Remedy) -> None:
    """F11 was said to be past waiting by the distance of ids alone."""
    found = mode.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert remedy is found.remedy
