"""Lost commits that are put back while the run that wrote them goes on: its newest commit stays the newest."""

import pytest

from bot.domain.execution import ProposalState
from tests.repairs.conftest import Positions
from tests.repairs.scene import RUN, RepairScene
from tests.tables import rows

pytestmark = pytest.mark.slow


@pytest.fixture
def put_back(scene: RepairScene) -> RepairScene:
    """Checkpoints 3 and 4 were rolled back under the run, and a backfill came on top; it may bring them again."""
    scene.flink.checkpoints(RUN, 2)
    target = scene.orders.head
    scene.flink.checkpoints(RUN, 2)
    scene.orders.rolls_back_to(target)
    scene.orders.appends(rows(range(50, 55)), {"engine-name": "spark", "spark.app.id": "local-17"})
    scene.opens("ledger", "checkpoint_pairing", remedy="restore-lost-commits")
    return scene


def test_above_what_the_run_commits_meanwhile_the_repair_carries_no_older_key(
    put_back: RepairScene, positions: Positions
) -> None:
    """A sink that found the older checkpoint newest would look for the newer one's manifests, which are gone."""
    proposed = put_back.proposes("restore_lost_commits")
    put_back.flink.checkpoints(RUN)

    rehearsal = put_back.carries_out(proposed)

    assert rehearsal.state is ProposalState.APPLIED, rehearsal.result
    repair = put_back.table.by_id[put_back.table.ref(rehearsal.proposal.rehearses_on or "")]  # type: ignore[index]
    assert not any(key.startswith("flink.") for key in repair.summary)
    assert repair.written is not None
    assert positions(put_back, rehearsal.proposal.rehearses_on or "") == list(range(55))
    assert put_back.proves(rehearsal).passed
    published = put_back.carries_out(put_back.proposes("publish_repair"))
    assert published.state is ProposalState.APPLIED, published.result


def test_where_the_run_commits_nothing_meanwhile_it_carries_its_keys(put_back: RepairScene) -> None:
    """The state that the stop leaves has just these checkpoints behind it."""
    rehearsal = put_back.carries_out(put_back.proposes("restore_lost_commits"))

    repair = put_back.table.by_id[put_back.table.ref(rehearsal.proposal.rehearses_on or "")]  # type: ignore[index]
    assert repair.job_id == RUN
