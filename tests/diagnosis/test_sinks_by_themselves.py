"""Each sink of a run commits by itself: what one has committed says nothing of what another owes."""

from datetime import timedelta

import pytest

import bot.diagnosis
from bot.diagnosis import commit_not_made_yet, recovered_by_itself
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.ids import OperatorId
from tests.cases import Tale
from tests.found import leaks, orphans

MODES = scan(bot.diagnosis)
SECOND = OperatorId("ee" * 16)


def two_sinks(upto: int, *, stuck_after: int) -> Tale:
    """Both sinks of the run commit each checkpoint; the second stops, and its manifests stay."""
    tale = Tale().flink_runs("a")
    for checkpoint in range(1, upto + 1):
        tale.completes("a", checkpoint).commits("a", checkpoint)
        if checkpoint <= stuck_after:
            tale.commits("a", checkpoint).by_sink(SECOND)
        else:
            tale.leaves_manifest("a", checkpoint, operator=SECOND)
    return tale


def looked_at(tale: Tale, *, overdue: bool = False) -> Case:
    """Evidence may say that what waits has waited for too long."""
    found = leaks(*tale.manifests)
    told = tuple(leak.model_copy(update={"is_overdue": overdue}) for leak in found.manifests)
    return tale.looked_at(leaked=found.model_copy(update={"manifests": told}))


def test_a_sink_that_is_stuck_is_told_though_another_commits() -> None:
    """The table was called healthy beside sixty rows that waited."""
    diagnosis = diagnose(looked_at(two_sinks(9, stuck_after=3)), MODES)

    ((mode, found),) = diagnosis.matches
    assert "F11" == mode.code
    assert "6 completed checkpoints" in found.headline
    assert "the table has 3 of its sink eeeeee" in found.reasons[0]
    assert "6 Flink manifests with 60 rows wait to be committed" in diagnosis.nothing_matches


def test_what_evidence_calls_overdue_is_not_healthy() -> None:
    """However few checkpoints completed since: a busy source may complete few."""
    tale = two_sinks(4, stuck_after=3)

    young = recovered_by_itself.examine(looked_at(tale))
    old = recovered_by_itself.examine(looked_at(tale, overdue=True))
    tale.completes("a", 5).commits("a", 5).commits("a", 5).by_sink(SECOND)
    late = looked_at(tale, overdue=True)
    tale.manifests.clear()
    made_good = recovered_by_itself.examine(late.model_copy(update={"observation": tale.looked_at().observation}))

    assert isinstance(young, Excluded)
    assert isinstance(old, Excluded)
    assert isinstance(made_good, Matches)


def test_what_a_sink_has_passed_over_does_not_wait_on() -> None:
    """It committed a later checkpoint and left one behind, which its V1 form keeps in memory and may drop."""
    tale = two_sinks(4, stuck_after=3).commits("a", 4).by_sink(SECOND)
    at_once = recovered_by_itself.examine(looked_at(tale))
    tale.now += timedelta(seconds=30)

    still = recovered_by_itself.examine(looked_at(tale))

    assert isinstance(at_once, Matches), "a commit deletes its manifest a moment later"
    assert isinstance(still, Excluded)
    assert "1 Flink manifest with 10 rows wait to be committed" in still.reason


def test_a_manifest_that_waits_is_late_once_a_later_checkpoint_is_done() -> None:
    """Flink lists ten: what it has forgotten completed all the same, as its commits show."""
    tale = two_sinks(5, stuck_after=4)
    tale.completes("a", *range(6, 12))
    tale.runs["a"] = tale.runs["a"].model_copy(update={"checkpoints": tale.runs["a"].checkpoints[:5]})

    assert isinstance(recovered_by_itself.examine(looked_at(tale)), Excluded)


def test_a_quiet_sink_beside_a_busy_one_is_no_fault() -> None:
    """It leaves no manifest and no file; what is said of carried rows is said of it alone."""
    tale = two_sinks(9, stuck_after=9).completes("a", 10, 11, 12).commits("a", 12)

    found = recovered_by_itself.examine(tale.looked_at())
    waiting = commit_not_made_yet.examine(tale.looked_at())
    unlisted = recovered_by_itself.examine(tale.looked_at(orphans=None))
    left = recovered_by_itself.examine(tale.looked_at(orphans=orphans(2)))

    assert isinstance(found, Matches)
    assert isinstance(waiting, Excluded)
    assert "3 checkpoints of run aaaaaa since 9 of its sink eeeeee" in waiting.reason
    assert isinstance(unlisted, CannotTell)
    assert isinstance(left, CannotTell)


def quiet(name: str) -> Tale:
    """Seventeen checkpoints without a commit, a file or a manifest, by a sink whose vertex has this name."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).remembers("a", *range(1, 21))
    source, sink = tale.runs["a"].vertices
    vertices = (source, sink.model_copy(update={"name": name}))
    tale.runs["a"] = tale.runs["a"].model_copy(update={"vertices": vertices})
    tale.now += timedelta(seconds=15)
    return tale


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders pre commit topology", Matches),
        ("Sink pre-commit aggregator", Excluded),
        ("IcebergFilesCommitter", Excluded),
    ],
)
def test_the_dynamic_sink_may_be_idle_for_long(name: str, expected: type) -> None:
    """It never commits without rows (facts 1.3); the others do, every tenth checkpoint."""
    found = recovered_by_itself.examine(quiet(name).looked_at())

    assert isinstance(found, expected)


def test_an_idle_dynamic_sink_is_quiet_only_while_nothing_is_left_over() -> None:
    """What the count no longer tells, the files on storage do."""
    case = quiet("orders pre commit topology").looked_at(orphans=None)

    found = recovered_by_itself.examine(case)

    assert isinstance(found, CannotTell)
    assert ("orphan_files",) == found.asks
