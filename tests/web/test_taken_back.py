"""Trust that ends: what the table itself says then."""

from bot.domain.entries import WaterlineMoved
from bot.domain.ids import SnapshotId
from bot.domain.trust import TrustState
from bot.service.waterline import Waterline
from tests.web.scene import Scene


def test_trust_is_taken_back_also_where_the_snapshot_to_fall_back_to_has_expired(scene: Scene) -> None:
    """The mark says so; the tag, which cannot stand there, stands nowhere: by it, what is doubted would be read."""
    scene.opens().verifies()
    gone = WaterlineMoved(snapshot=SnapshotId(4711), status="under-review")

    Waterline(scene.incidents, scene.catalog, scene.clock).move(scene.id, gone)

    state = scene.orders.state()
    assert (state.properties["waterline.status"], state.ref("waterline")) == ("under-review", None)
    assert scene.trust.state is TrustState.UNDER_REVIEW
