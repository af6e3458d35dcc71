"""What nobody knows until a person looks: settled by people, and what lands all the same."""

from collections.abc import Collection
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import Store
from bot.incident.decisions import ResolveUnknown
from bot.incident.entries import ExecutionEnded, NoteAdded
from bot.incident.execution import ProposalState
from bot.incident.review import review
from bot.observation.errors import CouldNotLook, OutcomeUnknown, Refused
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, ProposalId, TableName, UserId
from bot.observation.table import TableState
from bot.ports import Stopped, TableChange
from bot.service.closing import Closing
from bot.service.maintenance import Maintenance
from bot.service.proposals.approving import Approvals
from bot.service.timeline import sentence
from tests import orders_table as orders
from tests.execution.scene import Scene as Approved
from tests.little_flink import JOB, LittleFlink
from tests.rewound import ANA, BEN, PROPOSAL, WRONG_RUN, Nobody, begins
from tests.tables import ORDERS

EVE = UserId("U0EVE00009")


class Archive:
    """A history server that remembers these runs."""

    def __init__(self, *runs: JobRun) -> None:
        self._runs = {run.job_id: run for run in runs}

    def past_runs(self, job: str, known: Collection[JobId]) -> tuple[JobRun, ...]:
        return tuple(run for run in self._runs.values() if run.name == job and run.job_id not in known)

    def past_run(self, job_id: JobId) -> JobRun | None:
        return self._runs.get(job_id)


class Scene(Approved):
    """An approved rewind that was begun; the answer to its stop is lost, and the run is forgotten."""

    def __init__(self, folder: Path, record: Store) -> None:
        super().__init__(folder, record)
        self.gone: JobRun | None = None
        stop = self.damaged.flink.stop

        def lost(job: str, job_id: JobId, **how: bool) -> Stopped:
            stop(job, job_id, **how)
            self.gone = self.damaged.flink.forgets(job_id)
            raise OutcomeUnknown("Flink did not answer.", "Expected an answer; the connection was cut.", "Look.")

        self.damaged.flink.stop = lost  # type: ignore[method-assign]
        self.begins()

    def settles(
        self, *, happened: bool, by: UserId = BEN, reason: str = "Nothing of it runs on any host.", index: int = 0
    ) -> None:
        proposals = self.damaged.executions(self.store)[1]
        approvals = Approvals(self.store, proposals, Nobody(), SystemClock())
        act = ResolveUnknown(index=index, happened=happened, reason=reason)
        approvals.act(self.incident, PROPOSAL, act, by=by)


@pytest.fixture
def scene(record: Store, tmp_path: Path) -> Scene:
    """Nobody knows yet."""
    return Scene(tmp_path, record)  # type: ignore[misc]


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
    assert "is FINISHED, by the history server." in scene.view.done[0].detail
    assert scene.calls == ["stop", "start"]


def test_what_can_be_seen_of_a_forgotten_run_is_told(scene: Scene) -> None:
    """Which runs are alive, and when it committed last: what a person needs who has to look."""
    scene.carries_on()
    scene.carries_on()

    assert scene.view.state is ProposalState.UNKNOWN
    told = scene.view.result.sentence
    assert "Flink does not know run bbbbbb any more, and no history server is configured." in told
    assert f"Alive under the name {JOB}: no run. Run bbbbbb committed last at" in told
    assert "(checkpoint 6) and has not committed since." in told
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
        "Settled: step 1 of the execution happened; the execution continues. Nothing of it runs on any host."
    )
    [finding] = [f for f in review(incident, orders.observation(), orders.contract()) if f.contract == "approval"]
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
        "A person confirmed that step 1 did not happen. Done: nothing. Not done: Stop run bbbbbb, Move main"
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
        (BEN, " ", "Settling an outcome needs a reason. Say what you checked and what you saw."),
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

    with pytest.raises(Refused, match="Waterline now knows that step 1 happened"):
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
        lambda: proposals.propose(scene.incident, "roll_back_table_and_restore_job", step=None, by=ANA),
        lambda: maintenance.unfreeze(scene.incident, by=ANA),
        lambda: closing.close(scene.incident, "Done.", by=ANA),
    )

    told = []
    for attempt in attempts:
        with pytest.raises(Refused) as refused:
            attempt()
        told.append(refused.value)

    assert "Nothing can be proposed while the outcome of" in told[0].happened
    assert "Flink does not know run bbbbbb any more" in told[0].found
    assert all("an approver settles it with the buttons on the proposal" in each.remedy for each in told)


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
    assert "Check the table and the job before you propose anything else" in told


@pytest.fixture
def denied(scene: Scene) -> Scene:
    """Nobody knows of the run, and Ben settles that the stop did not happen."""
    scene.carries_on()
    scene.settles(happened=False)
    return scene


def looks_back(scene: Scene) -> list[str]:
    """As the bot does every now and then; what it has noted so far."""
    scene.damaged.executions(scene.store)[0].look_back(scene.incident)
    entries = scene.store.get(scene.incident).entries
    return [e.body.text for e in entries if isinstance(e.body, NoteAdded) and "happened after all" in e.body.text]


def test_it_is_told_once_when_the_world_tells(denied: Scene) -> None:
    """Whoever proposes next would build on a job that stands still."""
    before = looks_back(denied)
    assert denied.gone is not None
    denied.damaged.history = Archive(denied.gone)
    looks_back(denied)

    [told] = looks_back(denied)

    assert before == []
    assert "“Stop run bbbbbb” happened after all, though it was settled that it did not" in told
    assert denied.view.state is ProposalState.REFUSED
    assert denied.calls == ["stop"]


def test_nothing_is_told_once_something_else_was_begun(denied: Scene) -> None:
    """It may have stopped the run itself."""
    assert denied.gone is not None
    denied.damaged.history = Archive(denied.gone)
    again = denied.view.proposal.model_copy(update={"id": ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PNEW")})
    begins(denied.store, denied.incident, again)

    assert looks_back(denied) == []
