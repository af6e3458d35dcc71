"""F2 and F3: the remedy depends on what can be rewound, and dropped rows outlive the restore that dropped them."""

import pytest

from bot.diagnosis import commits_withheld, restored_from_older_savepoint
from bot.domain.diagnosis import Excluded, Matches, Remedy
from bot.domain.findings import LeakStanding
from tests.cases import Tale, job_id
from tests.found import hole, leaks, point, points


def rewound(*, v1: bool) -> Tale:
    """`a` reached 10, `b` was restored from 6."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6, v1=v1)


def test_a_rewind_without_a_point_to_go_to_is_deduplicated() -> None:
    """Looked, and nothing pairs: the run goes on and its repeated rows are removed by key."""
    tale = rewound(v1=False).commits("b", 7, 8)

    none = restored_from_older_savepoint.examine(tale.looked_at(duplicates=20, pairing=points()))
    some = restored_from_older_savepoint.examine(
        tale.looked_at(duplicates=20, pairing=points(point(job_id("a"), 6, tale.at("a", 6))))
    )

    assert isinstance(none, Matches)
    assert isinstance(some, Matches)
    assert (Remedy.DEDUPLICATE_ROWS, Remedy.REWIND_TABLE_AND_JOB) == (none.remedy, some.remedy)


@pytest.mark.parametrize(
    ("tale", "remedy"),
    [
        (rewound(v1=True), Remedy.CHANGE_OPERATOR_UID),
        (
            Tale().flink_runs("a").commits("a", *range(1, 11)).flink_runs("a", restored=4),
            Remedy.RESTART_WITH_NEW_JOB_ID,
        ),
    ],
)
def test_withheld_commits_without_a_point_to_go_to_need_another_name(tale: Tale, remedy: Remedy) -> None:
    """V1 keeps the old id in its state and forgets it only with its uid; V2 asks for its own job id."""
    found = commits_withheld.examine(tale.looked_at(pairing=points()))

    assert isinstance(found, Matches)
    assert remedy is found.remedy


@pytest.mark.parametrize(
    ("missing", "missing_files", "expected"),
    [(30, 0, Remedy.RECOVER_LEAKED_MANIFESTS), (30, 1, Remedy.REPLAY_SOURCE_RANGE), (0, 0, None)],
)
def test_dropped_manifests_tell_of_a_restore_that_flink_forgot(
    missing: int, missing_files: int, expected: Remedy | None
) -> None:
    """Until every position is there all the same, their rows are lost."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 8).completes("a", 8).leaves_manifest("a", 5, 6, 7)
    dropped = leaks(*tale.manifests, standing=LeakStanding.DROPPED, missing_files=missing_files, positions=(40, 69))

    found = commits_withheld.examine(tale.looked_at(leaked=dropped, gaps=hole(missing)))

    if expected is None:
        assert isinstance(found, Excluded)
    else:
        assert isinstance(found, Matches)
        assert (expected, tale.at("a", 4), None) == (found.remedy, found.last_good, found.wrong_run)
