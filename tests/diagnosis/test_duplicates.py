"""F1, F16 and F17: one checkpoint, the same files or the same keys twice, and copies that nothing explains."""

from typing import Any

import pytest

from bot.diagnosis import checkpoint_committed_twice as mode
from bot.diagnosis import (
    commits_withheld,
    restarted_from_empty,
    restored_from_older_savepoint,
    two_jobs_write_the_table,
)
from bot.diagnosis._support.examine import diagnose
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.findings import DuplicatePair, RepeatedCommit
from bot.observation.ids import CheckpointId, OperatorId, SnapshotId
from bot.observation.snapshot import REPAIR
from tests.cases import Tale, job_id, placed
from tests.diagnosis.answers import LastGood, Rows, Unsaid, WrongRun, answer_table, check
from tests.diagnosis.histories.held import MODES
from tests.found import files_twice, point, points, repeats, twice


def lost_answer() -> Tale:
    """Checkpoint 3 was committed, the answer was lost, and it was committed again."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 3)


def of(tale: Tale, how: str = "same-checkpoint", *, is_cherry_pick: bool = False) -> RepeatedCommit:
    """The two commits of checkpoint 3."""
    first, again = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 3)
    return RepeatedCommit.model_validate(
        {
            "first": first,
            "again": again,
            "how": how,
            "job_id": job_id("a"),
            "checkpoint_id": CheckpointId(3),
            "rows": 10,
            "is_cherry_pick": is_cherry_pick,
        }
    )


def test_a_repeat_at_the_head_is_dropped_alone() -> None:
    """The first copy carries the same checkpoint id, so table and job still pair below the second."""
    tale = lost_answer()
    first = SnapshotId(tale.snapshots[2].snapshot_id)

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale))))

    assert (Remedy.DROP_DUPLICATED_COMMIT, first) == (found.remedy, found.last_good)
    assert (first, tale.head) == found.rows
    assert tale.head == found.newest_wrong
    assert any("still pair" in reason for reason in found.reasons)


def test_commits_that_only_their_files_show_are_counted_beside_the_others() -> None:
    """One names a file of its own twice: no other commit has it, and it is too many all the same."""
    tale = lost_answer().commits("a", 4)
    told = of(tale, "same-files").model_copy(update={"too_many": 10})
    files = files_twice(10, told.first, told.again, tale.at("a", 4))

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(told), duplicate_files=files))

    assert (told.first, told.again, tale.at("a", 4)) == found.rows
    assert (told.again, tale.at("a", 4)) == found.repeating
    assert tale.at("a", 4) == found.newest_wrong
    assert "20 rows too many" in found.headline


@pytest.mark.parametrize("by_files", [True, False])
def test_a_repeat_that_main_has_no_more_is_looked_for_again(by_files: bool) -> None:
    """It was rolled back since; below it nothing is twice, and its parent may be off main as well."""
    tale = lost_answer()
    told = of(tale)
    found = {"duplicate_files": files_twice(10, told.first, told.again)} if by_files else {}
    tale.rolls_back_to("a", 2)

    answer = mode.examine(tale.looked_at(duplicate_commits=repeats(*([] if by_files else [told])), **found))

    assert "no longer on main" in answer.missing[0]


def copies(tale: Tale, first: SnapshotId, again: SnapshotId, **found: object) -> Case:
    """Two keys of the first commit live again in the other."""
    return tale.looked_at(**found).model_copy(update={"duplicates": twice(2, [(first, again)])})


def asks_of_copies(case: Case) -> bool:
    """Whether nobody may rule out that a run of the job read again what it had brought."""
    told = {each.mode.code: each.examined for each in diagnose(case, MODES).results}
    open_ones = [told[code] for code in ("F2", "F3", "F15") if isinstance(told[code], CannotTell)]
    return any("brought keys of" in missing for each in open_ones for missing in each.missing)


def test_copies_that_a_guest_brought_are_none_of_the_jobs() -> None:
    """Flink lists its run under another name."""
    tale = Tale().flink_runs("z").flink_runs("a").commits("a", 1, 2).commits("z", 1).by_sink(OperatorId("ee" * 16))
    tale.shows("z", name="backfill")

    assert not asks_of_copies(copies(tale, tale.at("a", 1), tale.at("z", 1)))
    assert asks_of_copies(copies(tale, tale.at("a", 1), tale.at("a", 2)))


def test_copies_below_the_window_are_not_looked_into() -> None:
    """They were there before the last commit that was good."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    told = [asks_of_copies(copies(tale, tale.at("a", 1), tale.at("a", 2), since=tale.at("a", n))) for n in (1, 2)]

    assert [True, False] == told


def case(*, keys: int = 8, upsert: bool = True, deletes: int = 0, **counts: int) -> Case:
    """Commits 1 to 3 of an upsert table; commit 2 wrote both copies of each repeated key."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.properties["write.upsert.enabled"] = str(upsert).lower()
    more = {"added-equality-deletes": str(deletes)}
    tale.snapshots = [s.model_copy(update={"summary": s.summary | more}) for s in tale.snapshots]
    pair = DuplicatePair(first=tale.at("a", 2), second=tale.at("a", 2), keys=keys)
    found = twice(keys).model_copy(update={"pairs": (pair,), **counts})
    return tale.looked_at().model_copy(update={"duplicates": found})


def replayed(tale: Tale) -> Tale:
    """Run b read again from checkpoint 4 what run a had committed up to 8."""
    tale.flink_runs("a").commits("a", *range(1, 9)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=4).commits("b", *range(5, 12)).completes("b", 11)


def told_of(tale: Tale, how: str = "same-checkpoint", **more: Any) -> Case:
    """The repeat is found: how, with this of it (`too_many`, `is_cherry_pick`), and with other evidence."""
    fields = {key: more.pop(key) for key in ("too_many", "rows", "is_cherry_pick") if key in more}
    return tale.looked_at(duplicate_commits=repeats(of(tale, how).model_copy(update=fields)), **more)


def anew() -> Tale:
    """As run with the V1 sink under a fixed job id: ids begin anew, with the same positions, in other files."""
    return Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).commits("a", 1, 2, 3)


def paired(tale: Tale, checkpoint: int, **more: Any) -> Case:
    """The repeat is found, and a restore point pairs with the commit of this checkpoint."""
    return told_of(tale, pairing=points(point(job_id("a"), checkpoint, tale.at("a", checkpoint))), **more)


def answer_was_lost() -> Tale:
    """Flink lists the exception that is the cause."""
    tale = lost_answer()
    thrown = tale.fails("a").runs["a"].failures[0]
    unknown = thrown.model_copy(update={"exception": "org.apache.iceberg.exceptions.CommitStateUnknownException"})
    return tale.shows("a", failures=(unknown,))


def by_key() -> Tale:
    """A table that is written by key."""
    tale = Tale()
    tale.properties["write.upsert.enabled"] = "true"
    return tale


def cleaned_up() -> Tale:
    """An approved repair took the copies out; the fall of the ids stays in the history."""
    tale = replayed(Tale()).commits(None, operation="delete")
    last = tale.snapshots[-1]
    tale.snapshots[-1] = last.model_copy(update={"summary": {**last.summary, REPAIR: "p-1"}})
    return tale


def idle_above() -> Tale:
    """Flink commits an empty checkpoint from time to time; the new run goes on below that, under another id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 14)
    nothing = {"total-records": "40", "total-data-files": "4", "total-delete-files": "0"}
    kept = {key: value for key, value in tale.snapshots[-1].summary.items() if not key.startswith("added")}
    told = kept | nothing | {"changed-partition-count": "0"}
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(update={"summary": told})
    tale.snapshots[-2] = tale.snapshots[-2].model_copy(update={"summary": tale.snapshots[-2].summary | nothing})
    return tale.becomes("a", "FAILED").flink_runs("b", restored=13).completes("b", 14, 15).commits("b", 15)


def backfilled(duplicates: int) -> Case:
    """By default the V2 sink's operator id is of the table's name: each INSERT into the table bears the same."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).commits("b", 1, 2).commits("a", 6, 7).completes("a", 6, 7)
    return tale.looked_at(duplicates=duplicates)


def failed_over() -> Case:
    """Flink's latest restore names checkpoint 3 of the very run that began with nothing."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).completes("a", 8).becomes("a", "FAILED")
    tale.flink_runs("b").completes("b", 1, 2).commits("b", 2, 3).completes("b", 3)
    return tale.flink_runs("b", restored=3).completes("b", 4).commits("b", 4).looked_at(duplicates=20)


def back_to_4(*, v1: bool) -> Case:
    """Run a was restored below its own commits and has completed 5."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", *range(1, 9)).flink_runs("a", restored=4, v1=v1)
    return tale.completes("a", 5).looked_at()


F1, F2, F3, F13, F15, F16, F17 = (
    mode, restored_from_older_savepoint, commits_withheld, two_jobs_write_the_table, restarted_from_empty,
    MODES["F16"], MODES["F17"],
)  # fmt: skip
DROP, REWIND, BY_KEY = (
    Remedy.DROP_DUPLICATED_COMMIT, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, Remedy.DEDUPLICATE_ROWS,
)  # fmt: skip
COMPACTED = lost_answer().commits("a", 4, 5).commits(None, 6, operation="replace")
BURIED = lost_answer().commits("a", 4, 5)
THREE = Tale().flink_runs("a").commits("a", 1, 2, 3)
TWICE_LIVE = files_twice(10, THREE.at("a", 2), THREE.at("a", 3))
OF_LOST = files_twice(10, *(s.snapshot_id for s in lost_answer().snapshots[2:]))
HIDDEN = "who wrote the copies of 8 keys (a compaction has rewritten them and hides it)"
LATER_REPLAY = replayed(Tale()).becomes("b", "CANCELED").flink_runs("c", restored=9).looked_at()
OWN_ROWS = "which nothing else in the table holds"


@answer_table(
    {
        "ids that begin anew after an empty start are a replay": (
            F1, told_of(anew(), duplicate_files=files_twice()), Excluded, "(F15)",
        ),
        "with the same files it is a repeat": (F1, told_of(anew(), "same-files"), Matches),
        "a buried repeat is dropped alone": (
            F1, told_of(BURIED), DROP, "2 commits by Flink above it left as they are",
        ),
        "below a compaction, and a point pairs below it": (F1, paired(COMPACTED, 2), REWIND),
        "below a compaction, and a point pairs above it": (F1, paired(COMPACTED, 5), BY_KEY),
        "files that are live twice are enough, whatever the ids": (
            F1, THREE.looked_at(duplicate_files=TWICE_LIVE), LastGood("a2"), Rows("a2 a3"),
        ),
        "of a commit with rows of its own only the repeated ones are too many": (
            F1, told_of(lost_answer(), "same-files", rows=20, too_many=10, duplicate_files=OF_LOST), DROP,
            "10 rows too many.", "20 rows, 10 of them its own.",
        ),
        "other files with other rows, and a point pairs below": (
            F1, paired(BURIED, 2, too_many=0), REWIND, "up to 10 rows too many.", OWN_ROWS,
        ),
        "other files with other rows are never dropped": (
            F1, paired(BURIED, 5, too_many=0), BY_KEY, "up to 10 rows too many.", OWN_ROWS,
        ),
        "Flink lists that the answer was lost": (
            F1, told_of(answer_was_lost()), Matches, "answer to a commit was lost",
        ),
        "another run read the range again into new files": (
            F1, told_of(lost_answer(), "same-source-range"), Excluded, "F2",
        ),
        "a cherry-pick says itself where it is from": (
            F1, told_of(lost_answer(), is_cherry_pick=True), Excluded, "cherry-picked",
        ),
        "a run that is shown from before both went nowhere": (
            F3, copies(THREE, THREE.at("a", 2), THREE.at("a", 3)), Excluded,
        ),
        "keys twice in one commit": (F16, case(within_commit=8), BY_KEY, LastGood("a1"), Rows("a2")),
        "a table that only appends (F16)": (F16, case(within_commit=8, upsert=False), Excluded, "only appends"),
        "a table that only appends (F17)": (F17, case(across_partitions=8, upsert=False), Excluded, "only appends"),
        "copies of one commit by two subtasks are not the sink's": (
            F16, case(within_commit=8, across_subtasks=8), Excluded,
        ),
        "they are the distribution's": (F17, case(within_commit=8, across_subtasks=8), Matches),
        "a compaction hides the writers (F16)": (F16, case(hidden=8), CannotTell, HIDDEN),
        "a compaction hides the writers (F17)": (F17, case(hidden=8), CannotTell, HIDDEN),
        "hidden copies may be older than the others (F16)": (F16, case(hidden=5, within_commit=3), LastGood(None)),
        "hidden copies may be older than the others (F17)": (F17, case(hidden=5, across_partitions=3), LastGood(None)),
        "a commit of nothing is not read again": (F2, idle_above().looked_at(), Excluded),
        "nor withheld": (F3, idle_above().looked_at(), Excluded),
        "replayed rows by key replaced themselves": (
            F2, placed(replayed(by_key()).looked_at()), Remedy.TELL_CONSUMERS, "readers see older values",
        ),
        "a repair has taken the copies of a replay out": (
            F2, placed(cleaned_up().looked_at()), Remedy.TELL_CONSUMERS, "nothing to take back any more",
        ),
        "a replay that did no harm hides no later one": (F2, LATER_REPLAY, REWIND, WrongRun("c")),
        "a backfill is a fork where rows live twice": (F13, backfilled(20), Matches),
        "elsewhere it is none": (F13, backfilled(0), Excluded),
        "a backfill is no start without state": (F15, backfilled(0), Excluded | CannotTell),
        "nor where rows live twice": (F15, backfilled(20), Excluded | CannotTell),
        "a start without state that failed over is one": (F15, failed_over(), Matches),
        "a start without state that failed over is no rewind": (F2, failed_over(), Excluded | CannotTell),
        "what V1 withholds comes in one commit": (F3, back_to_4(v1=True), Matches, "all of it comes in one commit"),
        "V2 lets the files go": (F3, back_to_4(v1=False), Matches, Unsaid("all of it comes in one commit")),
    }
)  # fmt: skip
def test_what_came_twice(mode: Any, case: Case, expected: list[Any]) -> None:
    """By one commit, one run or one key; and what only looks so."""
    check(mode, case, expected)
