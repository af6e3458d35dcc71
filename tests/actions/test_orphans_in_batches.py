"""Orphan files are put aside in batches: how many are left is told, and how it goes on."""

from datetime import UTC, datetime

import pytest

from bot.actions import remove_orphan_files
from bot.domain.action import Plan
from bot.domain.errors import Refused
from bot.domain.findings import OrphanFilesFinding
from tests.actions.scene import Scene
from tests.little_flink import JOB
from tests.tables import job

LISTED = tuple(f"/lake/sales/orders/data/left-{number:02d}.parquet" for number in range(20))
YEARS_AGO = datetime(2023, 11, 14, tzinfo=UTC)


def planned(scene: Scene, *, there: tuple[str, ...], orphans: int) -> Plan:
    """The evidence lists twenty; of them these are still where they were."""
    scene.flink.stop(JOB, job("a"))
    plan = scene.plan()
    found = OrphanFilesFinding(files_listed=90, orphans=orphans, bytes=4, young=0, paths=LISTED)
    case = plan.case.model_copy(update={"orphans": found})
    return plan.model_copy(update={"case": case, "written_at": lambda _paths: dict.fromkeys(there, YEARS_AGO)})


def test_how_many_are_left_and_how_it_goes_on_is_told(scene: Scene) -> None:
    """Twenty of forty-three."""
    proposal = remove_orphan_files.propose(planned(scene, there=LISTED, orphans=43))

    assert "Move 20 files" in proposal.preview.sentences[0]
    assert "23 further orphans stay for now. Run orphan_files again" in proposal.preview.sentences[0]


def test_where_all_were_listed_nothing_is_left(scene: Scene) -> None:
    """Nothing is said of others."""
    assert "further" not in remove_orphan_files.propose(planned(scene, there=LISTED, orphans=20)).preview.sentences[0]


def test_files_that_were_put_aside_before_are_not_called_too_young(scene: Scene) -> None:
    """The evidence is older than the last batch: it is to be run again."""
    with pytest.raises(Refused, match=r"moved or removed since\..*`/waterline run orphan_files`"):
        remove_orphan_files.propose(planned(scene, there=(), orphans=43))
