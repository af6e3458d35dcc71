"""A table that two faults have damaged is trusted when both are mended, and not when one of them is; neither repair
waits for the other."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.spark import SparkEvidenceRunner
from bot.incident.entries import Check, Verified, WaterlineMoved
from bot.incident.lowering import due_mark
from bot.observation.errors import Refused
from bot.service.notices.policy import refuse_false_comfort
from tests.repairs.compacting import added_by
from tests.repairs.conftest import Positions
from tests.repairs.recipes import declared
from tests.repairs.scene import RUN, RepairScene

pytestmark = pytest.mark.slow
GAP = "No missing rows"
LOOKS = ("ledger", "missing_positions", "duplicate_rows", "duplicate_commits", "duplicate_files", "leaked_manifests")
TWICE = "No duplicate rows"


@pytest.fixture
def scene(tmp_path: Path, runner: SparkEvidenceRunner) -> Iterator[RepairScene]:
    """Its rows can be made again from a declared source."""
    with closing(RepairScene(tmp_path, runner, replay=declared("range(0, 200)"))) as made:
        yield made


def loses_a_file(scene: RepairScene) -> None:
    """Of the second of three commits: positions 10 to 19."""
    [file] = added_by(scene, scene.table.chain[-2].snapshot_id)
    file.unlink()


def published(scene: RepairScene, action: str) -> Verified:
    """The repair is proven on its branch, published, and main is proven."""
    rehearsal = scene.proves(scene.carries_out(scene.proposes(action)))
    assert rehearsal.passed, rehearsal.checks
    return scene.proves(scene.carries_out(scene.proposes("publish_repair")))


def failed(proof: Verified) -> dict[str, str]:
    """What did not hold -> what was found."""
    return {check.name: check.sentence for check in proof.checks if not check.passed}


def owed(scene: RepairScene) -> WaterlineMoved | None:
    """Where the waterline belongs now."""
    return due_mark(scene.store.get(scene.incident), scene.table)


@pytest.mark.long
def test_a_gap_that_another_fault_has_left_keeps_a_repaired_table_under_review(
    scene: RepairScene, positions: Positions
) -> None:
    """The job has skipped 30 to 39, then a file is lost: its repair drops ten rows more. Replayed, all is proven."""
    scene.flink.checkpoints(RUN, 3)
    scene.orders.commits("a", 5, range(40, 50))
    scene.flink.stands_at(RUN, 5)
    scene.opens("ledger", "missing_positions", "duplicate_rows")
    loses_a_file(scene)
    scene.diagnosed_anew("unreadable_files", "missing_files")

    dropped = published(scene, "repair_unreadable_files")

    assert list(failed(dropped)) == [GAP]
    assert "20 positions are missing in 2 gaps" in failed(dropped)[GAP]
    assert "until these rows are replayed (/waterline propose replay_source_range)" in failed(dropped)[GAP]
    under_review = owed(scene)
    assert under_review.status == "under-review"

    replayed = published(scene, "replay_source_range")

    assert replayed.passed, replayed.checks
    assert GAP in {check.name for check in replayed.checks}
    assert positions(scene, "main") == list(range(len(positions(scene, "main"))))
    assert owed(scene) == WaterlineMoved(snapshot=replayed.head, status="trusted")


def repeats_and_skips(scene: RepairScene) -> None:
    """Checkpoint 3 is committed twice, in other files, and the job has skipped 30 to 39."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    scene.orders.commits("a", 5, range(40, 50))
    scene.flink.stands_at(RUN, 5)


def left_by(rehearsal: Verified) -> Check:
    """The one check that is passed because main was so before."""
    assert rehearsal.passed, rehearsal.checks
    [check] = (check for check in rehearsal.checks if check.was_before)
    return check


def must_be_under_review(scene: RepairScene) -> None:
    """The table is neither trusted nor told to be."""
    mark, incident = owed(scene), scene.store.get(scene.incident)
    assert mark.status == "under-review"
    for kind in ("recovered", "no_action"):
        with pytest.raises(Refused, match="You cannot send"):
            refuse_false_comfort(incident, kind)


def test_lost_commits_come_back_beside_rows_that_are_missing_for_good(scene: RepairScene, positions: Positions) -> None:
    """The job has skipped 30 to 39, and the source does not have them any more; then main is rolled back under it. The
    approver reads what stays missing, and so does whoever reads the proof of main."""
    scene.flink.checkpoints(RUN, 3)
    since = scene.orders.head
    scene.orders.commits("a", 5, range(40, 50))
    scene.flink.stands_at(RUN, 5)
    before = scene.orders.head
    scene.flink.checkpoints(RUN, 1)
    scene.orders.rolls_back_to(before)
    scene.flink.checkpoints(RUN, 1)
    scene.opens("ledger", "checkpoint_pairing", since=since, remedy="restore-lost-commits")

    check = left_by(scene.proves(scene.carries_out(scene.proposes("restore_lost_commits"))))
    publication = scene.proposes("publish_repair")
    mended = scene.proves(scene.carries_out(publication))

    assert check.name == "No additional missing rows"
    assert "10 rows are missing, 20 before this repair" in check.sentence
    assert "What is left: 10 positions are missing: 30 to 39." in check.sentence
    assert check.sentence in " ".join(publication.proposal.preview.sentences)
    last = positions(scene, "main")[-1]
    assert positions(scene, "main") == [*range(30), *range(40, last + 1)]
    assert list(failed(mended)) == [GAP]
    assert "If they are lost for good, notify the consumers" in failed(mended)[GAP]
    must_be_under_review(scene)


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "then", "left", "found", "asks"),
    [
        ("deduplicate_rows", "replay_source_range", GAP, "10 rows are missing, as before this repair", "F18"),
        pytest.param(
            "replay_source_range",
            "deduplicate_rows",
            TWICE,
            "10 rows are extra, as before this repair",
            "F1",
            marks=pytest.mark.long,
        ),
    ],
)
def test_of_two_faults_either_is_mended_first(
    scene: RepairScene, positions: Positions, first: str, then: str, left: str, found: str, asks: str
) -> None:
    """The branch is proven beside the other fault, main is not; the diagnosis asks for what is left, and with both
    mended the table is trusted."""
    repeats_and_skips(scene)
    scene.opens(*LOOKS)

    check = left_by(scene.proves(scene.carries_out(scene.proposes(first))))
    publication = scene.proposes("publish_repair")
    mended = scene.proves(scene.carries_out(publication))

    assert found in check.sentence
    assert check.sentence in " ".join(publication.proposal.preview.sentences)
    assert list(failed(mended)) == [left]
    assert "the table stays under review" in failed(mended)[left].lower()
    must_be_under_review(scene)
    assert asks in scene.diagnosed_anew(*LOOKS)

    last = published(scene, then)

    assert last.passed, last.checks
    assert positions(scene, "main") == list(range(len(positions(scene, "main"))))
    assert owed(scene) == WaterlineMoved(snapshot=last.head, status="trusted")
