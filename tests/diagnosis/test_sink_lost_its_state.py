"""F12: the sink's uid changed, and what its old state owed was dropped."""

import pytest

from bot.diagnosis import sink_lost_its_state as mode
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.findings import GapsFinding, LeakStanding
from bot.domain.ids import OperatorId
from tests.cases import OPERATOR, Tale
from tests.found import leaks

NEW = OperatorId("cc" * 16)


def changed(*, v1: bool = True) -> Tale:
    """`a` committed 3 and owed 4; `b` was restored from 4 under another uid."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", 1, 2, 3).completes("a", 4).becomes("a", "CANCELED")
    tale.leaves_manifest("a", 4).flink_runs("b", restored=4, v1=v1)
    committer = tale.runs["b"].vertices[1].model_copy(update={"vertex_id": NEW})
    tale.runs["b"] = tale.runs["b"].model_copy(update={"vertices": (tale.runs["b"].vertices[0], committer)})
    return tale.completes("b", 5)


def commits_as_new(tale: Tale, *checkpoints: int) -> Tale:
    """The new sink's commits carry its new operator id."""
    for checkpoint in checkpoints:
        tale.commits("b", checkpoint)
        last = tale.snapshots[-1]
        tale.snapshots[-1] = last.model_copy(update={"summary": last.summary | {"flink.operator-id": NEW}})
    return tale


def lost(tale: Tale, missing_files: int = 0) -> object:
    """Storage shows the old sink's manifest, which nothing remembers."""
    return leaks(*tale.manifests, standing=LeakStanding.LOST_STATE, missing_files=missing_files)


def test_what_the_old_state_owed_is_appended() -> None:
    """The old id's last commit and the new id's first are the rows; nothing is undone."""
    tale = commits_as_new(changed(), 5, 6)

    found = mode.examine(tale.looked_at(leaked=lost(tale)))

    assert isinstance(found, Matches)
    assert (Remedy.RECOVER_LEAKED_MANIFESTS, tale.at("a", 3), None) == (found.remedy, found.last_good, found.wrong_run)
    assert (tale.at("a", 3), tale.at("b", 5)) == found.rows


def test_once_its_rows_came_again_nothing_is_left_to_be_done() -> None:
    """As after a replay: the manifest stays. Before the new sink's first rows were counted, where it began is open."""
    whole = GapsFinding(lowest=0, highest=99, positions=100, missing=0, gaps=())
    since, before = commits_as_new(changed(), 5, 6), changed()

    mended, early = (
        mode.examine(
            tale.looked_at(
                leaked=leaks(*tale.manifests, standing=LeakStanding.LOST_STATE, positions=(20, 29)), gaps=whole
            )
        )
        for tale in (since, before)
    )

    assert isinstance(mended, Excluded)
    assert "came again" in mended.reason
    assert isinstance(early, CannotTell)
    assert "it has brought none yet" in early.missing[0]


def test_a_manifest_without_its_files_leaves_only_the_source() -> None:
    """There is nothing to append."""
    tale = commits_as_new(changed(), 5)

    found = mode.examine(tale.looked_at(leaked=lost(tale, missing_files=1)))

    assert isinstance(found, Matches)
    assert Remedy.REPLAY_SOURCE_RANGE is found.remedy


def test_it_is_seen_before_the_new_sink_commits() -> None:
    """A restored run that completes checkpoints without committing what its state owed has lost it."""
    tale = changed()

    found = mode.examine(tale.looked_at(leaked=lost(tale)))

    assert isinstance(found, Matches)
    assert "restored from checkpoint 4" in found.reasons[0]


def test_a_change_that_owed_nothing_is_no_fault() -> None:
    """The cure of F7 and F8 changes the uid on purpose."""
    tale = commits_as_new(changed(), 5)
    tale.manifests.clear()

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Excluded)
    assert "on purpose" in found.reason


def test_a_second_sink_beside_the_first_is_no_change() -> None:
    """The old id commits on."""
    tale = commits_as_new(changed(), 5).commits("a", 4, 5)

    found = mode.examine(tale.looked_at(leaked=lost(tale)))

    assert isinstance(found, Excluded)


def test_the_same_uid_commits_what_it_owes() -> None:
    """An ordinary restore: the manifest's checkpoint is on main before anything else."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).becomes("a", "CANCELED")
    tale.flink_runs("b", restored=4, v1=True).commits("a", 4).completes("b", 5).commits("b", 5)

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Excluded)
    assert "one operator id" in found.reason


def test_what_is_owed_is_not_guessed() -> None:
    """Storage must have been looked at, and Flink where main shows no change."""
    told, quiet = commits_as_new(changed(), 5), Tale().flink_runs("a").commits("a", 1, 2)

    assert isinstance(mode.examine(told.case()), CannotTell)
    assert isinstance(mode.examine(quiet.flink_is_down().looked_at()), CannotTell)


def test_a_manifest_of_another_operator_is_not_this_sinks() -> None:
    """The same job may write other tables into one metadata folder."""
    tale = commits_as_new(changed(), 5)
    tale.manifests = [m.model_copy(update={"operator_id": OperatorId("dd" * 16)}) for m in tale.manifests]
    assert OPERATOR != tale.manifests[0].operator_id

    found = mode.examine(tale.looked_at(leaked=lost(tale)))

    assert isinstance(found, Excluded)


def test_what_its_last_commit_covers_is_not_owed() -> None:
    """A manifest at or below the old id's last commit was passed over, not lost with the state (F3)."""
    tale = commits_as_new(changed(), 5)
    tale.manifests.clear()
    tale.leaves_manifest("a", 3)

    found = mode.examine(tale.looked_at(leaked=lost(tale)))

    assert isinstance(found, Excluded)


def runs_as(tale: Tale, run: str, operator: str, *checkpoints: int, restored: int | None = None) -> Tale:
    """The next run commits under this operator id, which its manifests bear too."""
    if tale.runs:
        tale.becomes(next(reversed(tale.runs)), "FINISHED")
    tale.flink_runs(run, restored=restored)
    for checkpoint in checkpoints:
        tale.completes(run, checkpoint).commits(run, checkpoint)
        told = {"flink.operator-id": operator * 16}
        last = tale.snapshots[-1]
        tale.snapshots[-1] = last.model_copy(update={"summary": last.summary | told})
    return tale


def several(last: str) -> Tale:
    """The uid changes twice: `a` owes 3 under the first, `b` under the second nothing."""
    tale = runs_as(Tale(), "a", "d1", 1, 2)
    tale.leaves_manifest("a", 3, operator=OperatorId("d1" * 16))
    runs_as(tale, "b", "d2", 4, 5, restored=3)
    return runs_as(tale, "c", last, 6, 7, restored=5)


@pytest.mark.parametrize("last", ["d3", "d1"], ids=["a third uid", "the first uid again"])
def test_an_earlier_change_is_judged_too(last: str) -> None:
    """The newest one owed nothing; what the first owed is lost all the same."""
    tale = several(last)

    found = mode.examine(tale.looked_at(leaked=lost(tale), missing=10))
    later = mode.examine(tale.looked_at(leaked=lost(tale), since=tale.at("b", 4)))

    assert isinstance(found, Matches)
    assert (tale.at("a", 2), (tale.at("a", 2), tale.at("b", 4))) == (found.last_good, found.rows)
    assert isinstance(later, Excluded)


def test_every_change_that_owed_is_told() -> None:
    """The good snapshot is the one below the first of them."""
    tale = several("d3").leaves_manifest("b", 8, operator=OperatorId("d2" * 16))

    found = mode.examine(tale.looked_at(leaked=lost(tale)))

    assert isinstance(found, Matches)
    assert found.headline.startswith("The sink came back under another uid, and 20 rows")
    assert (tale.at("a", 2), (tale.at("a", 2), tale.at("b", 4), tale.at("b", 5), tale.at("c", 6))) == (
        found.last_good,
        found.rows,
    )


def test_a_later_change_may_be_silent_without_flink() -> None:
    """Main shows one that owed nothing; whether another followed only Flink tells."""
    tale = several("d3").flink_is_down()

    found = mode.examine(tale.looked_at(leaked=leaks()))

    assert isinstance(found, CannotTell)


def test_another_job_in_between_is_no_change() -> None:
    """Our run was restarted while the other job wrote, under the uid that it always had."""
    tale = runs_as(Tale(), "a", "d1", 1, 2)
    tale.leaves_manifest("a", 3, operator=OperatorId("d1" * 16))
    runs_as(tale, "b", "d2", 4)
    tale.runs["b"] = tale.runs["b"].model_copy(update={"name": "backfill"})
    runs_as(tale, "c", "d1", 5, 6, restored=2)

    found = mode.examine(tale.looked_at(leaked=lost(tale)))

    assert isinstance(found, Excluded)


def test_two_sinks_of_each_run_are_no_change() -> None:
    """Both come back with the next run, in whatever order they commit."""
    tale = runs_as(runs_as(Tale(), "a", "d1", 1), "a", "d2", 1)
    runs_as(runs_as(tale, "b", "d2", 2, restored=1), "b", "d1", 2, restored=1)
    tale.leaves_manifest("a", 9, operator=OperatorId("d1" * 16))

    found = mode.examine(tale.looked_at(leaked=lost(tale)))

    assert isinstance(found, Excluded)


def waiting(tale: Tale) -> object:
    """Nobody could look whether a restore point lists the old sink's manifest."""
    return leaks(*tale.manifests, standing=LeakStanding.PENDING)


@pytest.mark.parametrize(("v1", "said"), [(True, f"whose sink is {NEW[:6]}"), (False, "which has not shown its sink")])
def test_what_waits_for_a_restore_under_another_id_leaves_it_open(v1: bool, said: str) -> None:
    """The living run cannot commit it, or nothing tells yet whether it can; V2 has it committed within moments."""
    tale = changed(v1=v1)

    found = mode.examine(tale.looked_at(leaked=waiting(tale)))

    assert isinstance(found, CannotTell)
    assert said in found.missing[0]
    assert "of checkpoint 4 of run aaaaaa" in found.missing[0]


def test_what_waits_for_the_sink_that_runs_is_no_doubt_of_it() -> None:
    """F11 and `healthy` tell of that one; so of a manifest above the restored checkpoint."""
    tale = changed()
    committer = tale.runs["b"].vertices[1].model_copy(update={"vertex_id": OPERATOR})
    tale.runs["b"] = tale.runs["b"].model_copy(update={"vertices": (tale.runs["b"].vertices[0], committer)})
    newer = changed(v1=False)
    newer.manifests.clear()
    newer.leaves_manifest("a", 6)

    assert isinstance(mode.examine(tale.looked_at(leaked=waiting(tale))), Excluded)
    assert isinstance(mode.examine(newer.looked_at(leaked=waiting(newer))), Excluded)


@pytest.mark.parametrize("run", ["b", "z"])
def test_what_another_job_or_the_run_itself_has_left_is_none_of_it(run: str) -> None:
    """Of run b it is from before a failover, and gone from storage since; run z is of no job that wrote this table."""
    tale = changed(v1=False)
    tale.manifests.clear()
    tale.leaves_manifest(run, 4)
    left = waiting(tale)
    tale.manifests.clear()

    assert isinstance(mode.examine(tale.looked_at(leaked=left)), Excluded)
