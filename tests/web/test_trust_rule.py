"""When a table is trusted, under review, or not known: on a real table and a real record."""

import threading
from datetime import timedelta

import pytest

from bot.incident.trust import Basis, TrustState
from bot.incident.trust_claims import judge
from bot.observation.errors import CouldNotLook, UnknownTable
from bot.observation.ids import TableName
from bot.observation.looked import NotSeen
from bot.observation.table import TableState
from tests.tables import ORDERS
from tests.web.scene import REFUNDS, Scene

pytestmark = pytest.mark.smoke

_DARK = NotSeen(source="the record", reason="It is damaged.", remedy="Look.")


class BrokenCatalog:
    """A catalog that cannot be asked, or hangs until `answers` is set."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.answers = threading.Event()
        self._hangs = hangs

    def load(self, table: TableName) -> TableState:
        if self._hangs:
            self.answers.wait(10)
        raise CouldNotLook(f"Table {table} could not be read.", "The connection was refused.", "Look.")


def test_a_table_that_nobody_questioned_is_trusted_and_says_that_nothing_is_proven(scene: Scene) -> None:
    """A gate in every pipeline must let healthy tables through; the basis says what stands behind it."""
    found = scene.trust

    assert (TrustState.TRUSTED, Basis.NEVER_QUESTIONED) == (found.state, found.basis)
    assert found.snapshot == found.head == scene.commits[-1]
    assert (found.since, found.incident, found.doubts) == (None, None, ())
    assert "never verified" in found.why


def test_an_open_incident_puts_the_table_under_review_and_names_what_to_read(scene: Scene) -> None:
    """The newest snapshot that nobody doubts, how far the head is above it, and why."""
    found = scene.opens().diagnoses().trust

    assert (TrustState.UNDER_REVIEW, Basis.BEFORE_THE_FAULT) == (found.state, found.basis)
    assert (scene.good, scene.commits[-1], 2) == (found.snapshot, found.head, found.above)
    assert found.why == (
        "Incident wl-1 is open on it. "
        "Run bbbbbb was started from an older savepoint and wrote checkpoints 2 and 3 again."
    )
    assert found.since == scene.incidents.get(scene.id).opened_at
    assert found.incident == "wl-1"
    assert len(found.pins) == 5
    assert found.doubts == ()


def test_after_the_proof_the_table_is_trusted_also_when_it_goes_on(scene: Scene) -> None:
    """Commits on top of the proven snapshot are nobody's doubt."""
    scene.opens().verifies().closes()
    proven = scene.orders.head
    scene.orders.commits("c", 5, range(50, 60))

    found = scene.trust

    assert (TrustState.TRUSTED, Basis.VERIFIED) == (found.state, found.basis)
    assert (proven, 1, "wl-1") == (found.snapshot, found.above, found.incident)
    assert found.why == "The table was verified after incident wl-1."
    assert found.advice == "Read the table as usual."


def test_an_incident_that_ends_without_proof_leaves_the_table_under_review(scene: Scene) -> None:
    """Closing is not proving."""
    found = scene.opens().closes().trust

    assert found.state is TrustState.UNDER_REVIEW
    assert "closed without verification" in found.why


@pytest.mark.parametrize("stage", ["quiet", "proven"])
def test_a_catalog_that_cannot_be_read_is_never_trust(scene: Scene, stage: str) -> None:
    """Whatever the record says: nobody looked at the table."""
    if stage == "proven":
        scene.opens().verifies().closes()

    found = scene.desk(BrokenCatalog()).trust(ORDERS)  # type: ignore[arg-type]

    assert found.state is TrustState.UNKNOWN
    assert found.doubts[0].startswith("Could not check the catalog: Table sales.orders could not be read.")
    assert found.pins == ()
    assert "Do not rely on it" in found.advice


def test_an_open_incident_counts_also_when_the_catalog_is_down(scene: Scene) -> None:
    """A doubt beats not knowing, and what could not be looked at is said beside it."""
    found = scene.opens().desk(BrokenCatalog()).trust(ORDERS)  # type: ignore[arg-type]

    assert (TrustState.UNDER_REVIEW, scene.good, ()) == (found.state, found.snapshot, found.pins)
    assert len(found.doubts) == 1


def test_whoever_waited_long_enough_is_told_that_it_is_not_known(scene: Scene) -> None:
    """A catalog that hangs does not hang a pipeline, and one hanging table does not hold up the overview."""
    catalog = BrokenCatalog(hangs=True)
    desk = scene.desk(catalog, patience=timedelta(milliseconds=50))  # type: ignore[arg-type]

    one, every = desk.trust(ORDERS), desk.all()
    catalog.answers.set()

    assert one.state is TrustState.UNKNOWN
    assert "did not answer within 0.05 seconds" in one.why
    assert {TrustState.UNKNOWN} == {each.state for each in every}


def test_a_record_that_cannot_be_read_is_never_trust(scene: Scene) -> None:
    """An empty record and an unreadable one are not the same."""
    found = judge(ORDERS, scene.orders.state(), _DARK, at=scene.clock.now())

    assert (TrustState.UNKNOWN, Basis.NONE, None) == (found.state, found.basis, found.snapshot)


def test_the_tables_own_mark_counts_where_the_record_cannot_be_read(scene: Scene) -> None:
    """Whoever finds the mark `under-review` hears of it, with the time that it carries."""
    scene.opens()

    found = judge(ORDERS, scene.orders.state(), _DARK, at=scene.clock.now())

    assert found.state is TrustState.UNDER_REVIEW
    assert found.since == scene.incidents.get(scene.id).opened_at
    assert found.incident is None


def test_a_table_that_another_record_marked_is_not_trusted_by_this_one(scene: Scene) -> None:
    """Two Waterlines, or a lost record: a mark that nobody here can explain is no trust."""
    scene.marks({"waterline.status": "trusted", "waterline.incident": "wl-7"}, tag=scene.good)

    found = scene.trust

    assert (TrustState.UNKNOWN, None, ()) == (found.state, found.snapshot, found.pins)
    assert "The record has no incident on this table" in found.doubts[0]
    assert "wl-7" not in found.model_dump_json()


@pytest.mark.parametrize(
    ("properties", "moves_tag", "says"),
    [
        ({"waterline.status": "under-review"}, False, "the table's property says `under-review`"),
        ({"waterline.status": "fine"}, False, "the table's property says `fine`"),
        ({"waterline.incident": "wl-9"}, False, "the table's property names another one or none"),
        ({}, True, "the tag waterline is on"),
    ],
)
def test_a_mark_that_is_not_what_the_record_says_is_no_trust(
    scene: Scene, properties: dict[str, str], moves_tag: bool, says: str
) -> None:
    """The table says of itself what the record does not know: it is said, and nothing is trusted."""
    scene.opens().verifies().closes()
    scene.marks(properties, tag=scene.commits[0] if moves_tag else None)

    found = scene.trust

    assert not found.is_trusted
    assert says in " ".join(found.doubts)
    assert bool(found.pins) is not moves_tag


def test_an_incident_whose_mark_is_still_missing_says_so(scene: Scene) -> None:
    """The table is marked soon after the opening; until then nobody who reads by the tag is protected."""
    found = scene.opens(mark=False).trust

    assert found.state is TrustState.UNDER_REVIEW
    assert "the table's property says `nothing`" in found.doubts[0]
    assert {None} == {pin.following for pin in found.pins}


def test_a_head_that_left_the_proven_snapshot_is_no_trust(scene: Scene) -> None:
    """Somebody rolled the table back below what was proven: nobody has looked at that state."""
    scene.opens().verifies().closes()
    scene.orders.rolls_back_to(scene.commits[0])

    found = scene.trust

    assert found.state is TrustState.UNKNOWN
    assert "does not descend from the verified snapshot" in found.why


@pytest.mark.parametrize("by_pyiceberg", [False, True])
def test_an_expired_way_down_to_the_proven_snapshot_is_no_doubt(scene: Scene, by_pyiceberg: bool) -> None:
    """Expiry removes what lies between a tag and the head; that proves nothing against the table. PyIceberg takes the
    parent's id away too, and the totals go on from it."""
    scene.opens().verifies().closes()
    proven = scene.orders.head
    heads = [scene.orders.commits("c", n, range(n * 10, n * 10 + 10)) for n in (5, 6)]
    state = scene.orders.state()
    below, head = (s for s in state.snapshots if s.snapshot_id in (proven, heads[-1]))
    kept = (below, head.model_copy(update={"parent_id": None}) if by_pyiceberg else head)

    found = judge(ORDERS, state.model_copy(update={"snapshots": kept}), scene.incidents.all(), at=scene.clock.now())

    assert (TrustState.TRUSTED, None) == (found.state, found.above)


def test_a_catalog_that_points_into_nothing_is_no_trust(scene: Scene) -> None:
    """F10: what can be read is older than what the catalog names."""
    state = scene.orders.state().model_copy(update={"lost_metadata": "file:///lake/00009.metadata.json"})

    found = judge(ORDERS, state, (), at=scene.clock.now())

    assert (TrustState.UNKNOWN, None, ()) == (found.state, found.head, found.pins)


def test_a_private_incident_is_told_without_its_id_and_reason(scene: Scene) -> None:
    """Consumers must know that the table is doubted; nobody learns why, or from whom."""
    found = scene.opens(private=True).diagnoses().trust

    assert found.state is TrustState.UNDER_REVIEW
    assert found.why == "A private incident is open on it."
    assert "wl-1" not in found.model_dump_json()
    assert "savepoint" not in found.model_dump_json()
    assert "wl-1" not in "".join(turn.model_dump_json() for turn in scene.desk().history(ORDERS))


def test_a_table_that_is_not_in_the_catalog_is_not_known_and_one_that_is_not_watched_refused(scene: Scene) -> None:
    """The one is a finding, the other a mistyped name."""
    desk = scene.desk()

    found = desk.trust(REFUNDS)

    assert found.state is TrustState.UNKNOWN
    assert "There is no table sales.refunds" in found.why
    with pytest.raises(UnknownTable, match=r"is not set up for a table sales\.ordres"):
        desk.trust(TableName("sales.ordres"))


def test_the_history_tells_every_change_newest_first(scene: Scene) -> None:
    """Questioned, proven, questioned again, left unproven."""
    scene.opens().verifies().closes()
    scene.opens().closes()

    turns = scene.desk().history(ORDERS)

    assert [turn.sentence for turn in turns] == [
        "Left under review: incident wl-2 was closed without verification.",
        "Questioned: incident wl-2 was opened.",
        "Verified after incident wl-1.",
        "Questioned: incident wl-1 was opened.",
    ]
