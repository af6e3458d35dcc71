"""What is answered, and where the tag stands, once evidence has found the rows of the head wrong."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.domain.diagnosis import Diagnosis, LastGoodRows, Matches, ModeResult, Remedy
from bot.domain.entries import Diagnosed, EvidenceRecorded, EvidenceRequested, IncidentOpened, WaterlineMoved
from bot.domain.evidence import Evidence, Verdict
from bot.domain.ids import EvidenceId, SnapshotId, TableName
from bot.domain.journal import WATERLINE
from bot.domain.looked import Seen
from bot.domain.suspicion import propose_window
from bot.domain.table import Window
from bot.domain.trust import Basis, TrustState
from bot.ports import TableCatalog, TableChange
from bot.service.waterline import Waterline
from tests.decisions import ANA, CHANNEL, F2, RUNBOOK
from tests.tables import ORDERS
from tests.web.scene import Scene


class Unsuspected(Scene):
    """An incident is opened where the metadata shows nothing: nobody doubts the head yet."""

    again = (("a", 4), ("a", 5))

    def opens_unsuspected(self) -> None:
        """By what the form proposes."""
        state = self.orders.state()
        offer = propose_window(state, Seen(source="flink", values=()))
        opened = IncidentOpened(
            table=ORDERS, job="orders-to-iceberg", runbook=RUNBOOK, severity="sev2", channel=CHANNEL,
            window=offer.window, trusted=offer.trusted, metadata_location=state.metadata_location,
            summary="Revenue is too high.",
        )  # fmt: skip
        self._later()
        self.id = self.incidents.open(opened, by=ANA).id
        self.waterline().under_review(self.id)

    def names(
        self,
        last_good: SnapshotId | None,
        rows: LastGoodRows | None = LastGoodRows.CLEAN,
        *,
        by: Waterline | None = None,
    ) -> None:
        """Keys live twice above that snapshot; the mark follows."""
        match = Matches(
            headline="keys live twice.", reasons=("Counted.",), rows=(self.commits[-1],), last_good=last_good,
            wrong_run=None, remedy=Remedy.DEDUPLICATE_ROWS, last_good_rows=rows,
        )  # fmt: skip
        self._says(Diagnosed(diagnosis=Diagnosis(results=(ModeResult(mode=F2, examined=match),))))
        (by or self.waterline()).follow(self.id)

    def counts_missing_positions(self) -> None:
        """Between the commits of the window, and nobody knows which; the mark follows."""
        state, run = self.orders.state(), EvidenceId("01JBQ5M7Z3T9K4X8V2N6R0PE01")
        evidence = Evidence(
            verdict=Verdict.CONFIRMED, headline="100 positions are missing.", measures=(), columns=(), rows=(),
            finding=None, sources=(), id=run, task="missing_positions", task_version=1, question="?",
            metadata_location=state.metadata_location, head=state.head, at=self.clock.now(), took_ms=1, bytes_read=1,
            window=Window(since=self.commits[0], until=state.head),
        )  # fmt: skip
        asked = EvidenceRequested(run=run, task="missing_positions", step=None, first_look=True)
        found = EvidenceRecorded(run=run, evidence=evidence)
        self.incidents.write(self.id, by=WATERLINE, decide=lambda _now: [asked, found])
        self.waterline().follow(self.id)

    def waterline(self, catalog: TableCatalog | None = None) -> Waterline:
        """Over another catalog, if one is named."""
        return Waterline(self.incidents, catalog or self.catalog, self.clock)

    @property
    def moves(self) -> list[SnapshotId | None]:
        """Where the record has put the mark so far."""
        bodies = (entry.body for entry in self.incidents.get(self.id).entries)
        return [body.snapshot for body in bodies if isinstance(body, WaterlineMoved)]


@pytest.fixture
def unsuspected(tmp_path: Path) -> Iterator[Unsuspected]:
    """Opened; the tag stands on the head."""
    with closing(Unsuspected(tmp_path)) as scene:
        scene.opens_unsuspected()
        yield scene


def test_answer_and_tag_go_below_a_fault_that_is_named(unsuspected: Unsuspected) -> None:
    """Whoever asks, or reads by the tag, gets the newest snapshot before it, and how it came to that is told."""
    head = unsuspected.orders.head
    unsuspected.names(unsuspected.good)

    trust, state = unsuspected.trust, unsuspected.orders.state()
    assert unsuspected.moves == [head, unsuspected.good]
    assert state.ref("waterline") == unsuspected.good == trust.snapshot
    assert (trust.state, trust.basis, trust.doubts) == (TrustState.UNDER_REVIEW, Basis.BEFORE_THE_FAULT, ())
    assert trust.advice.endswith("It is the newest with no known problem.")
    assert unsuspected.desk().history(ORDERS)[0].sentence == (
        f"Questioned further back: the problem of incident {unsuspected.id} is above this snapshot."
    )


def test_rows_that_nobody_looked_at_are_not_recommended(unsuspected: Unsuspected) -> None:
    """The snapshot is named with what is not known of it."""
    unsuspected.names(unsuspected.good, LastGoodRows.NOT_LOOKED_AT)

    assert unsuspected.trust.snapshot == unsuspected.good
    assert unsuspected.trust.advice == (
        "Do not read the head. The snapshot named here is the newest before the fault. It is not verified."
    )


def test_a_snapshot_is_not_proven_while_wrong_rows_are_not_diagnosed(unsuspected: Unsuspected) -> None:
    """The tag stays for the diagnosis to decide where they may lie above; the answer says what is not known."""
    opened, below = unsuspected.orders.head, unsuspected.commits[2]
    unsuspected.names(below)
    unsuspected.counts_missing_positions()

    assert unsuspected.moves == [opened, below]
    assert unsuspected.orders.state().ref("waterline") == below == unsuspected.trust.snapshot
    assert unsuspected.trust.advice == (
        "Do not read the head. Some rows are wrong, and it is unknown where. The snapshot named here is not verified "
        "and may contain some."
    )


def test_a_head_in_which_wrong_rows_were_counted_is_named_no_more(unsuspected: Unsuspected) -> None:
    """No diagnosis is needed to know that it holds them."""
    opened = unsuspected.orders.head
    unsuspected.counts_missing_positions()

    assert unsuspected.moves == [opened, None]
    assert unsuspected.orders.state().ref("waterline") is None
    assert unsuspected.trust.snapshot is None


@pytest.mark.parametrize("rows", [None, LastGoodRows.WRONG])
def test_where_nobody_knows_the_tag_is_gone(unsuspected: Unsuspected, rows: LastGoodRows | None) -> None:
    """No snapshot is named, and whoever reads by the tag fails at once rather than reading what is wrong."""
    unsuspected.names(unsuspected.good if rows is not None else None, rows)

    trust, state = unsuspected.trust, unsuspected.orders.state()
    assert (state.ref("waterline"), state.properties["waterline.status"]) == (None, "under-review")
    assert (trust.snapshot, trust.basis, trust.pins, trust.doubts) == (None, Basis.NONE, (), ())
    assert trust.why.endswith("Keys live twice. The last good snapshot is unknown.")


def test_it_is_moved_once_and_not_again(unsuspected: Unsuspected) -> None:
    """Looked at again, by a process that was started anew, nothing is left to do."""
    unsuspected.names(unsuspected.good)
    location = unsuspected.orders.state().metadata_location
    unsuspected.names(unsuspected.good)
    unsuspected.waterline().follow(unsuspected.id)
    unsuspected.waterline().keep(unsuspected.id)

    assert len(unsuspected.moves) == 2
    assert unsuspected.orders.state().metadata_location == location


def test_what_was_killed_between_table_and_record_is_done_once(unsuspected: Unsuspected) -> None:
    """The commit was made, and its entry was not: the next start writes the entry, and commits nothing."""

    class Dies(Exception):
        pass

    class Killed:
        def load(self, table: TableName) -> object:
            return unsuspected.catalog.load(table)

        def commit(self, table: TableName, change: TableChange) -> None:
            unsuspected.catalog.commit(table, change)
            raise Dies

    with pytest.raises(Dies):
        unsuspected.names(unsuspected.good, by=unsuspected.waterline(Killed()))  # type: ignore[arg-type]
    location = unsuspected.orders.state().metadata_location
    unsuspected.waterline().follow(unsuspected.id)

    assert unsuspected.moves[-1] == unsuspected.good
    assert unsuspected.orders.state().metadata_location == location
