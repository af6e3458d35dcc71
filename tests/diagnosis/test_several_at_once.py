"""Several faults at once: each is named, and they come in the order in which to act."""

import pytest

import bot.diagnosis
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import Case
from bot.domain.findings import LeakStanding, RepeatedCommit, UnreadableFile
from bot.domain.ids import CheckpointId
from tests.cases import Tale, job_id
from tests.found import leaks, repeats, unreadable

MODES = scan(bot.diagnosis)


def withheld_then_dropped() -> Case:
    """`b` (V1) was restored too far back and committed late; after the change to V2 under a fixed id, `c` was started
    without state."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=6, v1=True).completes("b", *range(7, 12)).commits("b", 11).becomes("b", "FINISHED")
    tale.flink_runs("c", restored=11).commits("c", 12, 13).becomes("c", "CANCELED")
    tale.starts_again("c").completes("c", 1, 2).leaves_manifest("c", 1, 2)
    return tale.looked_at(duplicates=40, leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED))


def rolled_back_and_looping() -> Case:
    """The table was rolled back under the running job, which then failed over and looks for what it has committed."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 10)).rolls_back_to("a", 3)
    tale.flink_runs("a", restored=9, v1=True, state="RESTARTING")
    return tale.misses_manifest("a", "a", 9, times=3).looked_at()


def rewound_and_forked() -> Case:
    """`b` replaced `a` from an older savepoint; then `c` was started from `b`'s checkpoint while `b` ran on."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=6).commits("b", 7, 8).flink_runs("c", restored=8)
    return tale.commits("c", 9).commits("b", 9).commits("c", 10).looked_at(duplicates=30)


def rewound_with_lost_metadata() -> Case:
    """The newest metadata file is gone, and what older metadata shows is a rewind."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=6).commits("b", 7, 8)
    tale.lost_metadata = "s3://lake/sales/orders/metadata/00020.metadata.json"
    return tale.looked_at(duplicates=20)


def repeated_and_cleaned_up() -> Case:
    """A commit was made twice, and a cleanup took a data file."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 3)
    first, again = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 3)
    repeated = RepeatedCommit(
        first=first, again=again, how="same-checkpoint", job_id=job_id("a"), checkpoint_id=CheckpointId(3), rows=10
    )
    file = UnreadableFile(
        path="s3://lake/sales/orders/data/1.parquet", what="data", snapshot_id=first, rows=10, problem="It is gone."
    )
    return tale.looked_at(duplicates=10, duplicate_commits=repeats(repeated), unreadable=unreadable(file))


@pytest.mark.parametrize(
    ("case", "codes"),
    [
        (withheld_then_dropped(), ["F2", "F3", "F4"]),
        (rolled_back_and_looping(), ["F6", "F7"]),
        (rewound_and_forked(), ["F13", "F2"]),
        (rewound_with_lost_metadata(), ["F10", "F2"]),
        (repeated_and_cleaned_up(), ["F9", "F1"]),
    ],
    ids=["F2+F3+F4", "F6+F7", "F13+F2", "F10+F2", "F9+F1"],
)
def test_what_still_grows_worse_comes_first(case: Case, codes: list[str]) -> None:
    """Contain, make readable, recover, repair; within one of these by the catalogue's number."""
    faults = {f"F{number}" for number in range(1, 14)}

    diagnosis = diagnose(case, MODES)

    assert codes == [code for code in diagnosis.codes if code in faults]
    assert not {"healthy", "no-advance"} & set(diagnosis.codes)


def test_where_nothing_matches_the_table_is_not_acquitted() -> None:
    """Two rows of one key in one append fit no mode; that they are there is said all the same."""
    case = Tale().flink_runs("a").commits("a", 1, 2).looked_at(duplicates=2)

    diagnosis = diagnose(case, MODES)

    assert () == diagnosis.codes
    assert diagnosis.nothing_matches.startswith("No failure mode matches. The table is not healthy: ")
    assert "2 keys live more than once" in diagnosis.nothing_matches
