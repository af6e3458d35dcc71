"""What is answered of a table's trust once evidence, the watch or another incident doubts it."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.history.suspicion import propose_window
from bot.incident.diagnosis import Diagnosis, LastGoodRows, Matches, ModeResult, Remedy
from bot.incident.entries import Diagnosed, EvidenceRecorded, EvidenceRequested, IncidentOpened, WaterlineMoved
from bot.incident.journal import WATERLINE
from bot.incident.trust import Basis, Trust, TrustState
from bot.incident.watch import Ended, ReportedFinding, WatchFinding
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import RecoveryDeadline
from bot.observation.ids import EvidenceId, IncidentId, SnapshotId, TableName
from bot.observation.looked import Seen
from bot.observation.table import Window
from bot.ports import TableCatalog, TableChange
from bot.service.opening import Opening
from bot.service.trust import TrustService
from bot.service.watching.finding_store import WatchFindings
from bot.service.waterline import Waterline
from tests.decisions import ANA, CHANNEL, F2, RUNBOOK
from tests.orders_table import NINE
from tests.runbook.shipped import shipped
from tests.tables import ORDERS
from tests.watch.signs import finding, muted, reported
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
            remedy=Remedy.DEDUPLICATE_ROWS, last_good_rows=rows,
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


@pytest.mark.parametrize("is_private", [False, True])
def test_the_deadline_of_a_recovery_is_part_of_the_answer(tmp_path: Path, is_private: bool) -> None:
    """Of the open incident; of a private one nobody learns it, and without one the watch tells it."""
    until = NINE + timedelta(hours=5)
    told = RecoveryDeadline(
        looked_at=NINE, recoverable_until=until, because="Kafka may delete orders/2", restore_point=None, limits=()
    )
    watched = told.model_copy(update={"recoverable_until": NINE})
    with closing(Scene(tmp_path)) as scene:
        desk = scene.desk(deadlines=lambda _table: watched)

        before = desk.trust(ORDERS)
        scene.opens(private=is_private).diagnoses(told)
        now = desk.trust(ORDERS)

    assert before.recoverable_until == NINE
    assert (now.recoverable_until, now.recoverable_because) == ((None, None) if is_private else (until, told.because))


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
        seen = finding("F2").model_copy(update={"last_good": last_good, "last_good_rows": rows})
        assert self.store.watched.add(reported(seen, at=self.clock.now()))


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


def _trust(scene: Scene) -> Trust:
    desk = scene.desk()
    findings = WatchFindings(scene.store.watched, [ORDERS])
    heeding = TrustService(scene.incidents, desk._observer, scene.clock, findings=findings, keep=timedelta(0))
    return heeding.trust(ORDERS)


def _finds(scene: Scene, of: WatchFinding | None = None, *, last_good: SnapshotId | None = None) -> ReportedFinding:
    found = reported((of or finding()).model_copy(update={"last_good": last_good}), at=scene.clock.now())
    assert scene.store.watched.add(found)
    return found


def test_what_the_watch_found_is_a_doubt_that_names_what_to_read_instead(scene: Scene) -> None:
    """Nobody is told that nobody has a doubt while the bot itself has one."""
    _finds(scene, last_good=scene.good)

    found = _trust(scene)

    assert found.state is TrustState.UNKNOWN
    assert (scene.good, Basis.BEFORE_THE_FAULT, 2) == (found.snapshot, found.basis, found.above)
    assert found.doubts == (
        "The monitor found F2 at 09:00 UTC, and no incident covers it: Run bbbbbb was restored from checkpoint "
        "3, although run aaaaaa had committed checkpoint 5.",
    )
    assert found.why == found.doubts[0]
    assert found.since == scene.clock.now()
    assert "not the head" in found.advice
    assert len(found.pins) == 5


@pytest.mark.parametrize("rows_below", [None, LastGoodRows.WRONG])
def test_where_it_begins_is_not_guessed(scene: Scene, rows_below: LastGoodRows | None) -> None:
    """A finding that does not tell the last good snapshot, or below which rows are wrong, too, leaves none to name."""
    _finds(scene, last_good=scene.good)
    other = finding("F13").model_copy(update={"last_good_rows": rows_below})
    _finds(scene, other, last_good=None if rows_below is None else scene.good)

    found = _trust(scene)

    assert (TrustState.UNKNOWN, None, Basis.NONE, ()) == (found.state, found.snapshot, found.basis, found.pins)
    assert len(found.doubts) == 2
    assert "Do not rely on it" in found.advice


def test_a_mute_is_no_denial(scene: Scene) -> None:
    """Whoever wants to hear no more of it has not said that it is not so."""
    _finds(scene)
    scene.store.watched.add(muted(scene.clock.now() + timedelta(hours=4), at=scene.clock.now()))

    assert _trust(scene).state is TrustState.UNKNOWN


@pytest.mark.parametrize("how", ["over", "not urgent", "of an alert", "a silence", "of the job alone", "not followed"])
def test_what_is_over_or_only_told_by_others_leaves_trust_alone(scene: Scene, how: str) -> None:
    """Trust ends by what the watch sees itself, urgent, while it lasts, where it says that rows are wrong or lost."""
    code = {"of an alert": "alert", "a silence": "no-commit"}.get(how, "F2")
    of = finding(code, urgent=how != "not urgent").model_copy(update={"rows_are_right": how == "of the job alone"})
    found = _finds(scene, of)
    if how == "over":
        scene.store.watched.add(
            Ended(finding=found.id, table=ORDERS, at=scene.clock.now(), why="Waterline does not see it any more.")
        )

    now = scene.trust if how == "not followed" else _trust(scene)

    assert (TrustState.TRUSTED, ()) == (now.state, now.doubts)


def test_an_incident_takes_the_doubt_over_and_a_proof_ends_it(scene: Scene) -> None:
    """People look at it then; what they prove is not put in question by what they looked into."""
    _finds(scene, last_good=scene.good)

    scene.opens()
    looked_into = _trust(scene)
    scene.verifies().closes()
    proven = _trust(scene)

    assert (TrustState.UNDER_REVIEW, ()) == (looked_into.state, looked_into.doubts)
    assert (TrustState.TRUSTED, ()) == (proven.state, proven.doubts)


def test_a_finding_after_the_proof_is_a_new_doubt_and_what_was_proven_is_named(scene: Scene) -> None:
    """The proven snapshot stands; the head above it does not."""
    scene.opens().verifies().closes()
    proven = scene.orders.head
    scene.clock.at += timedelta(hours=1)
    scene.orders.commits("c", 5, range(50, 60))
    _finds(scene)

    found = _trust(scene)

    assert (TrustState.UNKNOWN, proven, Basis.VERIFIED, 1) == (found.state, found.snapshot, found.basis, found.above)
    assert found.why.startswith("The monitor found F2 at ")


def test_a_finding_does_not_name_what_record_and_table_disagree_about(scene: Scene) -> None:
    """A mark that nobody here can explain leaves nothing to rely on, whatever the watch believes good."""
    _finds(scene, last_good=scene.good)
    scene.marks({"waterline.status": "trusted", "waterline.incident": "wl-7"}, tag=scene.good)

    found = _trust(scene)

    assert (TrustState.UNKNOWN, None, Basis.NONE) == (found.state, found.snapshot, found.basis)
    assert found.why.startswith("Unknown. The record has no incident on this table")


def test_the_gate_does_not_open_though_it_runs_beside_the_bot(scene: Scene) -> None:
    """`waterline trust` reads what the bot's watch has kept."""
    _finds(scene)
    channel = "C0INCIDENT1"

    config = str(scene.configured(channel=channel, watch={}))
    watched = CliRunner().invoke(app, ["trust", ORDERS, "--config", config])
    config = str(scene.configured(channel=channel))
    not_watched = CliRunner().invoke(app, ["trust", ORDERS, "--config", config])

    assert (2, 0) == (watched.exit_code, not_watched.exit_code)
    assert "sales.orders: unknown. The monitor found F2" in watched.stdout


@pytest.fixture
def again(scene: Scene) -> Scene:
    """wl-1 ended with a proof; the table went on."""
    scene.opens().diagnoses().verifies().closes()
    scene.orders.commits("d", 5, range(50, 60))
    return scene


def test_the_api_tells_the_end_of_an_old_incident_beside_what_holds_now(again: Scene, web: httpx.Client) -> None:
    """Nobody who asks for the old incident takes its proof for the table's present state."""
    before = web.get("/v1/incidents/wl-1").json()
    again.opens()

    after, newest = web.get("/v1/incidents/wl-1").json(), web.get("/v1/incidents/wl-2").json()

    assert ("trusted", None) == (before["table_now"], before["superseded_by"])
    assert ("under-review", "wl-2", True) == (after["table_now"], after["superseded_by"], after["is_proven"])
    assert ("under-review", None, False) == (newest["table_now"], newest["superseded_by"], newest["is_proven"])


def test_the_page_names_the_later_incident_and_the_file_to_keep_does_not(again: Scene, web: httpx.Client) -> None:
    """A file is the record of one incident: what came later is not in its entries."""
    again.opens()

    page, kept = web.get("/incidents/wl-1").text, web.get("/incidents/wl-1/record.html").text

    assert "Table, as it was left</dt>" in page
    assert '<a href="/incidents/wl-2">incident wl-2</a> put the table in question' in page
    assert "Table, as it was left</dt>" in kept
    assert "wl-2" not in kept


def test_a_private_later_incident_is_not_named(again: Scene, web: httpx.Client) -> None:
    """That the table is in question is told to everybody, by whom is not."""
    again.opens(private=True)

    told, page = web.get("/v1/incidents/wl-1").json(), web.get("/incidents/wl-1").text

    assert ("under-review", None) == (told["table_now"], told["superseded_by"])
    assert "a private incident put the table in question" in page
    assert "wl-2" not in page


def test_trust_is_taken_back_also_where_the_snapshot_to_fall_back_to_has_expired(scene: Scene) -> None:
    """The mark says so; the tag, which cannot stand there, stands nowhere: by it, what is doubted would be read."""
    scene.opens().verifies()
    gone = WaterlineMoved(snapshot=SnapshotId(4711), status="under-review")

    Waterline(scene.incidents, scene.catalog, scene.clock).move(scene.id, gone)

    state = scene.orders.state()
    assert (state.properties["waterline.status"], state.ref("waterline")) == ("under-review", None)
    assert scene.trust.state is TrustState.UNDER_REVIEW
