"""F4: started without state under the old job id; V2 drops, V1 does not, and what can be brought back."""

from bot.diagnosis import commits_dropped_after_empty_start as mode
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.findings import GapsFinding, LeakStanding
from tests.cases import Tale, job_id
from tests.found import hole, leaks


def dropped() -> Tale:
    """As run on Flink 1.20.3 with the V2 sink: 5 committed, started anew, 1 to 4 completed, nothing committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "CANCELED")
    return tale.starts_again("a").completes("a", 1, 2, 3, 4).leaves_manifest("a", 1, 2, 3, 4)


def test_a_silent_v2_sink_after_an_empty_start_matches() -> None:
    """Its completed checkpoints, its dropped rows and the job to stop are named."""
    tale = dropped()

    found = mode.examine(tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED)))

    assert isinstance(found, Matches)
    assert (tale.at("a", 5), job_id("a"), Remedy.RESTART_WITH_NEW_JOB_ID) == (
        found.last_good,
        found.wrong_run,
        found.remedy,
    )
    assert any("completed 1, 2, 3 and 4" in reason for reason in found.reasons)
    assert any("40 rows never committed" in reason for reason in found.reasons)


def test_it_matches_before_a_checkpoint_completed() -> None:
    """The first commit is dropped already: what decides is the start, not the loss."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").starts_again("a")

    found = mode.examine(tale.case())

    assert isinstance(found, Matches)
    assert any("Nobody has looked" in reason for reason in found.reasons)


def test_once_the_ids_have_passed_the_rows_are_appended_from_their_manifests() -> None:
    """The job commits again by itself, so its id no longer matters; what was dropped stays dropped."""
    tale = dropped().completes("a", 5, 6).commits("a", 6)

    found = mode.examine(tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED), gaps=hole(40)))

    assert isinstance(found, Matches)
    assert (Remedy.RECOVER_LEAKED_MANIFESTS, None) == (found.remedy, found.wrong_run)


def test_once_what_was_dropped_came_again_it_is_over() -> None:
    """As after a replay of the source: its manifests stay on storage."""
    tale = dropped().completes("a", 5, 6).commits("a", 6)
    left = leaks(*tale.manifests, standing=LeakStanding.DROPPED, positions=(20, 29))
    whole = GapsFinding(lowest=0, highest=99, positions=100, missing=0, gaps=())

    found = mode.examine(tale.looked_at(leaked=left, gaps=whole))

    assert isinstance(found, Excluded)
    assert "came again since" in found.reason


def test_once_the_ids_have_passed_and_the_files_are_gone_the_source_is_read_again() -> None:
    """A manifest whose data files were cleaned up cannot be appended."""
    tale = dropped().completes("a", 5, 6).commits("a", 6)
    gone = leaks(*tale.manifests, standing=LeakStanding.DROPPED, missing_files=1)

    found = mode.examine(tale.looked_at(leaked=gone, gaps=hole(40)))

    assert isinstance(found, Matches)
    assert Remedy.REPLAY_SOURCE_RANGE is found.remedy


def test_the_v1_sink_commits_from_its_first_checkpoint() -> None:
    """It looks for older commits only after a restore (facts F4)."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).becomes("a", "CANCELED").starts_again("a", v1=True)

    silent, wrote = mode.examine(tale.case()), mode.examine(tale.commits("a", 1).case())

    assert isinstance(silent, Excluded)
    assert isinstance(wrote, Excluded)
    assert "F15" in wrote.reason


def test_a_new_job_id_drops_nothing() -> None:
    """Its commits are checked against its own id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b")

    found = mode.examine(tale.case())

    assert isinstance(found, Excluded)
    assert "id of its own" in found.reason


def test_a_restore_is_no_empty_start() -> None:
    """Restored from below under its own id: F3."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).flink_runs("a", restored=1)

    found = mode.examine(tale.case())

    assert isinstance(found, Excluded)


def test_an_unknown_sink_is_told_by_what_it_left_behind() -> None:
    """Without operators only a dropped manifest shows the V2 sink."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").starts_again("a")
    tale.runs["a"] = tale.runs["a"].model_copy(update={"vertices": ()})
    tale.completes("a", 1, 2).leaves_manifest("a", 1)

    before = mode.examine(tale.case())
    after = mode.examine(tale.case(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED)))

    assert isinstance(before, CannotTell)
    assert isinstance(after, Matches)


def test_only_flink_can_tell_that_nothing_was_restored() -> None:
    """A frozen table alone may be a quiet source."""
    found = mode.examine(dropped().flink_is_down().case())

    assert isinstance(found, CannotTell)


def test_nobody_is_asked_to_bring_back_what_the_restart_reads_again() -> None:
    """From a point that pairs with the head the source reads again whatever was dropped since."""
    assert "bring back" not in Remedy.RESTART_WITH_NEW_JOB_ID.words
    assert "reads again" in Remedy.RESTART_WITH_NEW_JOB_ID.words
