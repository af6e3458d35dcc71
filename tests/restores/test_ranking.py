"""Which restore points are right for what is asked, the best first, and why each of the others is not."""

from datetime import timedelta

import pytest

from bot.history.case import Case
from bot.history.ranking import Ranking, for_rewind, for_start, on_main, ranked, recovering, where_files_wait
from bot.history.restore import Restores, pairings
from bot.observation.findings import PairingFinding
from bot.observation.flink import CheckpointKind, StoredCheckpoint
from bot.observation.looked import Seen
from tests.cases import Tale
from tests.restores.test_predictions import point


def world(tale: Tale, *points: StoredCheckpoint) -> Case:
    """Of the table as the tale leaves it; the points are told oldest first, and each is a minute younger."""
    told = tuple(
        each.model_copy(update={"written_at": each.written_at + timedelta(minutes=n)}) for n, each in enumerate(points)
    )
    case = tale.case()
    seen = case.observation.model_copy(
        update={"checkpoints": Seen[StoredCheckpoint](source="s3://state", values=told[::-1])}
    )
    found = PairingFinding(pairings=pairings(told, seen.table, seen.jobs))
    return case.model_copy(update={"observation": seen, "pairing": found})


def ids(ranking: Ranking) -> tuple[list[int | None], list[int | None]]:
    """(Checkpoints of those that are right, of those that are not)."""
    right, rejected = ranking
    return [each.pair.checkpoint_id for each in right], [each.pair.checkpoint_id for each in rejected]


def test_each_point_that_is_not_taken_has_its_reason() -> None:
    """Main ends with checkpoint 3."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).rolls_back_to("a", 3).becomes("a", "FAILED")
    unread = point("a", None, is_unread=True, problem="It is archived.")
    case = world(tale, point("a", 1), point("a", 3), point("a", 4), point("c", 9), unread)

    ranking = for_start(case)

    assert ids(ranking) == ([3], [None, 9, 4, 1])
    assert all(each.why_not for each in ranking.rejected)
    assert "A start would write 20 rows of 2 commits" in str(ranking.rejected[-1].why_not)
    assert ranking.in_words().startswith(unread.path)
    [passed] = ranking.passed_over(point("a", 3).path)
    assert passed.startswith(f"Do not use the 2 newer restore points. The newest is {point('c', 9).path}: ")
    assert ranking.passed_over(point("c", 9).path) == ()


def test_one_that_flink_may_delete_comes_last_and_is_not_lasting() -> None:
    """A retained checkpoint of a run that goes on."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    kept = point("a", 2, kind=CheckpointKind.CHECKPOINT, path="s3://state/chk-2")
    case = world(tale, point("a", 2), kept)

    assert [each.pair.path for each in ranked(Restores(case).shown, on_main(Restores(case))).right] == [
        point("a", 2).path,
        kept.path,
    ]
    lasting = for_start(case)
    assert [each.pair.path for each in lasting.rejected] == [kept.path]


def test_a_rewind_goes_to_the_nearest_state_at_or_below_the_last_good_one() -> None:
    """Whichever point was written last."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "FAILED")
    case = world(tale, point("a", 4), point("a", 2), point("a", 1), point("a", 3))

    ranking = for_rewind(case, tale.at("a", 2))

    assert ids(ranking) == ([2, 1], [3, 4])
    assert all(each.why_not for each in ranking.rejected)


@pytest.mark.parametrize(("there", "right"), [((3,), [3]), ((), [])])
def test_owed_files_must_all_be_there(there: tuple[int, ...], right: list[int]) -> None:
    """Else the job fails at each start, and the reason says so."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", *there).becomes("a", "CANCELED")
    case = world(tale, point("a", 2), point("a", 3, owes={"a": (3,)}))

    ranking = where_files_wait(case)

    assert ids(ranking)[0] == right
    assert all(each.why_not for each in ranking.rejected)


def test_each_point_is_judged_once_for_what_a_recovery_brings_back() -> None:
    """Those that bring table and job back come first, then what pairs, and the newest."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")
    case = world(tale, point("a", 1), point("a", 2), point("a", 3, owes={"a": (3,)}))

    found = recovering(case)

    assert [(each.stored.checkpoint_id, each.brings_back, each.may_bring_back) for each in found] == [
        (2, True, True), (1, True, True), (3, False, True),
    ]  # fmt: skip
