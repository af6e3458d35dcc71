"""An incident that is opened on a table that others doubt already believes good no more than they do."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.domain.diagnosis import LastGoodRows
from bot.domain.ids import IncidentId, SnapshotId
from bot.service.opening import Opening
from bot.service.sightings import WatchFindings
from tests.decisions import ANA
from tests.runbook.shipped import shipped
from tests.tables import ORDERS
from tests.watch.signs import sighted, sign
from tests.web.scene import Scene


class Doubted(Scene):
    """The metadata shows nothing of the rows that live twice."""

    again = (("a", 4), ("a", 5))

    @property
    def opening(self) -> Opening:
        """As the bot has it."""
        findings = WatchFindings(self.store.watched, [ORDERS])
        return Opening(self.incidents, self.desk()._observer, shipped(), findings)

    def opens_anew(self, since: SnapshotId | None = None) -> IncidentId:
        """By what the form proposes, unless somebody names another snapshot; and the table is marked."""
        self._later()
        self.id = self.opening.open(
            table=ORDERS,
            runbook="duplicate-rows",
            severity="sev3",
            channel="C0ORDERS01",
            summary="",
            by=ANA,
            since=since,
        )
        self._waterline.under_review(self.id)
        return self.id

    def finds(self, last_good: SnapshotId | None, rows: LastGoodRows | None = None) -> None:
        """The watch sees F2 a second time."""
        seen = sign("F2").model_copy(update={"last_good": last_good, "last_good_rows": rows})
        assert self.store.watched.add(sighted(seen, at=self.clock.now()))


@pytest.fixture
def doubted(tmp_path: Path) -> Iterator[Doubted]:
    """Nothing is open."""
    with closing(Doubted(tmp_path)) as scene:
        yield scene


def test_where_nobody_doubts_the_head_is_offered(doubted: Doubted) -> None:
    """Only the metadata was looked at."""
    assert doubted.opening.offer(ORDERS).trusted == doubted.orders.head


@pytest.mark.parametrize("private", [False, True])
def test_what_an_incident_left_under_review_is_not_lifted_by_the_next_one(doubted: Doubted, private: bool) -> None:
    """Nobody has proven what lies above; the tag stays, the window begins there, and the form says why."""
    doubted.opens(private=private).closes()
    offer = doubted.opening.offer(ORDERS)
    doubted.opens_anew()

    whose = "A private incident" if private else "Incident wl-1"
    opened = doubted.incidents.get(doubted.id).opened
    assert (offer.trusted, offer.window.since) == (doubted.good, None)
    assert offer.because.endswith(
        f"{whose} was closed without verification of the table. Nothing above …{str(doubted.good)[-6:]} is trusted "
        "until that is proven."
    )
    assert (opened.trusted, opened.window) == (offer.trusted, offer.window)
    assert doubted.orders.state().ref("waterline") == doubted.good == doubted.trust.snapshot


def test_the_window_begins_where_the_doubt_does(doubted: Doubted) -> None:
    """Though many commits were made since."""
    doubted.opens().closes()
    for n in range(6, 29):
        doubted.orders.commits("a", n, range(n * 10, n * 10 + 10))

    assert doubted.opening.offer(ORDERS).window.since == doubted.good


def test_where_an_incident_left_no_snapshot_the_next_one_has_none(doubted: Doubted) -> None:
    """It was closed while nobody knew which one is right."""
    doubted.finds(None)
    doubted.opens_anew()
    doubted.closes()
    offer = doubted.opening.offer(ORDERS)
    doubted.opens_anew()

    assert (offer.trusted, offer.window.until) == (None, doubted.orders.head)
    assert offer.because.endswith("No snapshot is trusted until that is proven.")
    assert (doubted.trust.snapshot, doubted.orders.state().ref("waterline")) == (None, None)


def test_a_table_that_somebody_marked_as_under_review_is_believed_up_to_its_tag(doubted: Doubted) -> None:
    """The record knows of no incident; the table may come from another Waterline."""
    doubted.marks({"waterline.status": "under-review"}, tag=doubted.good)

    assert doubted.opening.offer(ORDERS).trusted == doubted.good


def test_after_a_proof_the_head_is_offered_again(doubted: Doubted) -> None:
    """What an incident doubted, it has proven."""
    doubted.opens().verifies().closes()
    doubted.orders.commits("c", 5, range(50, 60))

    assert doubted.opening.offer(ORDERS).trusted == doubted.orders.head


def test_who_opens_may_name_another_one(doubted: Doubted) -> None:
    """The form asks for it."""
    doubted.opens().closes()
    doubted.opens_anew(since=str(doubted.commits[3]))

    assert doubted.incidents.get(doubted.id).opened.trusted == doubted.commits[3]


def test_an_incident_believes_good_no_more_than_what_the_watch_has_found(doubted: Doubted) -> None:
    """Before it was opened the same snapshot was named."""
    doubted.finds(doubted.good)
    doubted.opens_anew()

    opened = doubted.incidents.get(doubted.id).opened
    assert opened.trusted == doubted.good == doubted.orders.state().ref("waterline")
    assert "The monitor found F2: Run bbbbbb was restored" in opened.summary


@pytest.mark.parametrize("rows", [None, LastGoodRows.WRONG])
def test_a_finding_that_does_not_tell_where_it_begins_leaves_none(doubted: Doubted, rows: LastGoodRows | None) -> None:
    """Or that tells that the rows before it are wrong, too."""
    doubted.finds(doubted.good if rows is not None else None, rows)

    assert doubted.opening.offer(ORDERS).trusted is None


def test_a_finding_that_does_not_tell_where_it_begins_leaves_what_was_proven(doubted: Doubted) -> None:
    """Nothing is named above it."""
    doubted.opens().verifies().closes()
    proven = doubted.orders.head
    doubted.orders.commits("c", 5, range(50, 60))
    doubted.clock.at = doubted.clock.at.replace(hour=12)
    doubted.finds(None)

    assert doubted.opening.offer(ORDERS).trusted == proven
