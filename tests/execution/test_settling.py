"""A run was told to stop, and the cluster lost its memory: nobody knows what became of it until a person looks."""

from collections.abc import Collection, Iterable
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import Store, open_store
from bot.domain.approval_terms import approval_terms
from bot.domain.entries import ExecutionEnded, NoteAdded
from bot.domain.errors import CouldNotLook, OutcomeUnknown, Refused
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.flink import JobRun
from bot.domain.ids import JobId, TableName, UserId
from bot.domain.table import TableState
from bot.domain.timeline import sentence
from bot.ports import Stopped, TableChange
from bot.service.approving import Approvals
from bot.service.closing import Closing
from bot.service.incident_store import IncidentStore
from bot.service.maintenance import Maintenance
from tests.little_flink import JOB, LittleFlink
from tests.rewound import ANA, BEN, PROPOSAL, WRONG_RUN, Damaged
from tests.tables import ORDERS

EVE = UserId("U0EVE00009")


class Archive:
    """A history server that remembers these runs."""

    def __init__(self, *runs: JobRun) -> None:
        self._runs = {run.job_id: run for run in runs}

    def past_runs(self, job: str, known: Collection[JobId]) -> tuple[JobRun, ...]:
        """See the port."""
        return tuple(run for run in self._runs.values() if run.name == job and run.job_id not in known)

    def past_run(self, job_id: JobId) -> JobRun | None:
        """See the port."""
        return self._runs.get(job_id)


class Nobody:
    """A directory without groups."""

    def members(self, groups: Iterable[str]) -> frozenset[UserId]:
        """See the port."""
        return frozenset()


class Scene:
    """An approved rewind that was begun; the answer to its stop is lost, and the run is forgotten."""

    def __init__(self, folder: Path, record: Store) -> None:
        self.damaged = Damaged.made_in(folder)
        self.store = IncidentStore(record.journal, SystemClock())
        self.incident = self.damaged.approved(self.store)
        self.before = len(self.damaged.flink.calls)
        self.gone: JobRun | None = None
        stop = self.damaged.flink.stop

        def lost(job: str, job_id: JobId, **how: bool) -> Stopped:
            stop(job, job_id, **how)
            self.gone = self.damaged.flink.forgets(job_id)
            raise OutcomeUnknown("Flink did not answer.", "Expected an answer; the connection was cut.", "Look.")

        self.damaged.flink.stop = lost  # type: ignore[method-assign]
        self.damaged.executions(self.store)[0].begin(self.incident, PROPOSAL, by=ANA)

    @property
    def view(self) -> ProposalView:
        return self.store.get(self.incident).proposals[PROPOSAL]

    @property
    def calls(self) -> list[str]:
        return [call.split()[0] for call in self.damaged.flink.calls[self.before :]]

    def carries_on(self) -> None:
        self.damaged.executions(self.store)[0].carry_on(self.incident, PROPOSAL)

    def settles(
        self, *, happened: bool, by: UserId = BEN, reason: str = "Nothing of it runs on any host.", index: int = 0
    ) -> None:
        proposals = self.damaged.executions(self.store)[1]
        approvals = Approvals(self.store, proposals, Nobody(), SystemClock())
        approvals.settle_outcome(self.incident, PROPOSAL, index, reason, happened=happened, by=by)


@pytest.fixture
def scene(tmp_path: Path) -> "Scene":
    record = open_store(f"sqlite:///{tmp_path}/journal.db")
    yield Scene(tmp_path, record)  # type: ignore[misc]
    record.close()


def test_a_history_server_tells_what_the_cluster_has_forgotten(scene: Scene) -> None:
    """Nobody has to settle anything: it goes on by itself."""
    scene.damaged.history = Archive()
    scene.carries_on()
    before = scene.view.state
    assert scene.gone is not None
    scene.damaged.history = Archive(scene.gone)
    scene.carries_on()

    assert before is ProposalState.UNKNOWN
    assert scene.view.state is ProposalState.APPLIED
    assert "is FINISHED, as the history server tells." in scene.view.done[0].detail
    assert scene.calls == ["stop", "start"]


def test_what_can_be_seen_of_a_forgotten_run_is_told(scene: Scene) -> None:
    """Which runs are alive, and when it committed last: what a person needs who has to look."""
    scene.carries_on()
    scene.carries_on()

    assert scene.view.state is ProposalState.UNKNOWN
    assert scene.view.result is not None
    told = scene.view.result.sentence
    assert "Flink does not know run bbbbbb any more, and no history server is configured." in told
    assert f"Alive under the name {JOB}: no run. Run bbbbbb committed last at" in told
    assert "(checkpoint 6), and nothing since." in told
    assert scene.calls == ["stop"]


def test_it_goes_on_once_an_approver_says_that_it_happened(scene: Scene) -> None:
    """Who, what and why are in the record; the review asks about it."""
    scene.carries_on()

    scene.settles(happened=True)
    scene.carries_on()

    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]
    incident = scene.store.get(scene.incident)
    [(by, said)] = [(e.by, sentence(e)) for e in incident.entries if e.body.kind == "outcome-settled"]
    assert by == BEN
    assert said == (
        "Settled: step 1 of the execution happened, and the execution goes on. Nothing of it runs on any host."
    )
    [finding] = approval_terms(incident)
    assert f"<@{BEN}> settled at" in finding.observed
    assert finding.holds is False


def test_it_ends_once_an_approver_says_that_it_did_not_happen(scene: Scene) -> None:
    """Nothing is repeated; table and job can be looked at and proposed for again."""
    scene.carries_on()
    head = scene.damaged.catalog.load(ORDERS).head

    scene.settles(happened=False, reason="It still writes, under another JobManager.")
    scene.carries_on()

    assert scene.view.state is ProposalState.REFUSED
    assert scene.calls == ["stop"]
    assert scene.damaged.catalog.load(ORDERS).head == head
    ended = [e.body for e in scene.store.get(scene.incident).entries if isinstance(e.body, ExecutionEnded)][-1]
    assert ended.sentence.startswith(
        "A person settled that step 1 did not happen. Carried out: nothing. Not carried out: Stop run bbbbbb, Move main"
    )


@pytest.mark.parametrize(
    ("by", "reason", "answer"),
    [
        (ANA, "Gone.", "You proposed this, so somebody else must settle whether it happened. Ask <@U0BEN00001>."),
        (
            EVE,
            "Gone.",
            "You are not an approver for this, so you cannot settle whether it happened. Ask <@U0BEN00001>.",
        ),
        (BEN, " ", "Settling an outcome needs a reason. Say what you looked at, and what you saw."),
    ],
)
def test_only_an_approver_settles_it_and_with_a_reason(scene: Scene, by: UserId, reason: str, answer: str) -> None:
    """The proposer does not vouch for what they have asked for."""
    scene.carries_on()

    with pytest.raises(Refused) as refused:
        scene.settles(happened=True, by=by, reason=reason)

    assert str(refused.value) == answer
    assert scene.view.state is ProposalState.UNKNOWN


def test_what_the_world_tells_by_now_counts_more_than_a_word(scene: Scene) -> None:
    """The history server came back between the look and the click."""
    scene.carries_on()
    assert scene.gone is not None
    scene.damaged.history = Archive(scene.gone)

    with pytest.raises(Refused, match="It is known by now that step 1 happened"):
        scene.settles(happened=False)

    scene.carries_on()
    assert scene.view.state is ProposalState.APPLIED


def test_nothing_else_is_proposed_thawed_or_closed_meanwhile_and_each_refusal_says_what_to_do(scene: Scene) -> None:
    """A second rewind beside a job that may still write would be the next incident."""
    scene.carries_on()
    proposals = scene.damaged.executions(scene.store)[1]
    maintenance = Maintenance(scene.store, scene.damaged.catalog)
    closing = Closing(scene.store, None, {})  # type: ignore[arg-type]
    attempts = (
        lambda: proposals.propose(scene.incident, "rewind_table_and_job", step=None, by=ANA),
        lambda: maintenance.thaw(scene.incident, by=ANA),
        lambda: closing.close(scene.incident, "Done.", by=ANA),
    )

    told = []
    for attempt in attempts:
        with pytest.raises(Refused) as refused:
            attempt()
        told.append(refused.value)

    assert "Nothing can be proposed while it is not known what became of" in told[0].happened
    assert "Flink does not know run bbbbbb any more" in told[0].found
    assert all("an approver settles it by the buttons on the proposal's message" in each.remedy for each in told)


def test_nobody_settles_a_step_while_it_is_carried_out_anew(scene: Scene) -> None:
    """The world told that it had not happened; what it says while the request is on its way is no answer."""
    flink, refusals = scene.damaged.flink, []
    scene.carries_on()
    assert scene.gone is not None
    first, run = scene.view.state, flink.run
    stop = LittleFlink.stop

    def settled_meanwhile(job: str, job_id: JobId, **how: bool) -> Stopped:
        flink.run = lambda _job_id: None  # type: ignore[method-assign]
        with pytest.raises(Refused) as refused:
            scene.settles(happened=False)
        refusals.append(str(refused.value))
        flink.run = run  # type: ignore[method-assign]
        return stop(flink, job, job_id, **how)

    flink.submit(WRONG_RUN, at_checkpoint=6)
    flink.stop = settled_meanwhile  # type: ignore[method-assign]
    scene.carries_on()

    assert first is ProposalState.UNKNOWN
    assert len(refusals) == 1
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "stop", "start"]


def test_what_lands_after_it_was_settled_that_it_did_not_is_told(scene: Scene) -> None:
    """The slow executor lost its turn to another, which could not look; a person settled; then the commit came."""
    flink, catalog = scene.damaged.flink, scene.damaged.catalog
    commit, load = catalog.commit, catalog.load
    flink.stop = LittleFlink.stop.__get__(flink)  # type: ignore[method-assign]

    def away(_table: object) -> TableState:
        raise CouldNotLook("The catalog did not answer.", "", "")

    def slow(table: TableName, change: TableChange) -> TableState:
        if change.move_main_to is not None:
            catalog.load = away  # type: ignore[method-assign]
            scene.carries_on()
            scene.settles(happened=False, index=1)
            catalog.load = load  # type: ignore[method-assign]
        return commit(table, change)

    catalog.commit = slow  # type: ignore[method-assign]
    scene.carries_on()
    scene.carries_on()

    assert scene.view.state is ProposalState.REFUSED
    said = [e.body.text for e in scene.store.get(scene.incident).entries if isinstance(e.body, NoteAdded)]
    [told] = [text for text in said if "happened after all" in text]
    assert "“Move main to" in told
    assert "look at table and job before anything else is proposed" in told
