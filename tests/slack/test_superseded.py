"""The world moves between approval and execution: the rewind is refused, and nothing is changed."""

import pytest

from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId
from bot.workspace import SeenMessage
from tests.little_flink import JOB
from tests.rewound import GOOD_RUN, WRONG_RUN
from tests.slack.little_bot import Cluster, LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder
from tests.tables import job


@pytest.fixture
def approved(collected: SeenMessage, ana: Responder, ben: Responder) -> SeenMessage:
    """A rewind that Ana proposed and Ben approved."""
    ben.clicks("Approve", ana.proposes())
    return ana.sees_on_proposal("Execute")


def state(bot: LittleBot) -> ProposalState:
    """Of the newest proposal."""
    view = bot.services.store.get(IncidentId("wl-1")).current_proposal
    assert view is not None
    return view.state


@pytest.mark.smoke
def test_an_unforeseen_commit_supersedes_the_rewind(
    approved: SeenMessage, ana: Responder, orders: Orders, flink: Cluster
) -> None:
    """Execute is refused with who committed what and when; table and job stay as they are."""
    foreign = orders.spark_appends()
    calls = flink.calls

    answer = ana.answer_to(lambda: ana.clicks("Execute", approved))
    superseded = ana.sees_on_proposal("Superseded")

    assert f"now …{foreign % 1_000_000:06d} was committed by spark app local-17 at" in answer
    assert "Nothing was changed. Collect evidence again and propose again." in answer
    assert "local-17" in superseded.plain
    assert superseded.buttons == ()
    assert orders.head == foreign
    assert flink.calls == calls
    assert [run.state for run in flink.runs(JOB)] == ["RUNNING", "FINISHED"]


def test_after_it_was_superseded_the_stale_evidence_is_asked_for_again(
    approved: SeenMessage, ana: Responder, orders: Orders, bot: LittleBot
) -> None:
    """Proposing anew on evidence that another writer has overtaken is refused, naming the commit."""
    foreign = orders.spark_appends()
    ana.answer_to(lambda: ana.clicks("Execute", approved))

    answer = ana.answer_to(lambda: ana.clicks("Propose again", ana.sees_on_card("Propose again")))

    assert "is stale" in answer
    assert f"…{foreign % 1_000_000:06d} was committed since by spark application local-17" in answer
    assert state(bot) is ProposalState.SUPERSEDED


def test_commits_of_the_run_that_is_to_be_stopped_are_foreseen(
    approved: SeenMessage, ana: Responder, orders: Orders, flink: Cluster
) -> None:
    """A streaming table does not stand still: the wrong run's next checkpoints are taken off main as well."""
    flink.checkpoints(WRONG_RUN, 2)

    ana.clicks("Execute", approved)
    proven = ana.sees("Verified at head")

    assert "Every key lives exactly once." in proven.plain
    assert orders.positions == list(range(70))


def test_a_table_that_was_rolled_back_supersedes_it(
    approved: SeenMessage, ana: Responder, orders: Orders, bot: LittleBot
) -> None:
    """A head that does not descend from the approved one is refused."""
    orders.somebody_rolls_back()
    head = orders.head

    answer = ana.answer_to(lambda: ana.clicks("Execute", approved))

    assert "does not descend from it. The table was rolled back" in answer
    assert orders.head == head
    assert state(bot) is ProposalState.SUPERSEDED


def test_a_job_that_somebody_restarted_supersedes_it(
    approved: SeenMessage, ana: Responder, orders: Orders, flink: Cluster, bot: LittleBot
) -> None:
    """The approved stop is for one job id; another run of the job is not stopped in its place."""
    flink.stop(JOB, WRONG_RUN)
    flink.submit(job("c"), at_checkpoint=6)
    head = orders.head

    answer = ana.answer_to(lambda: ana.clicks("Execute", approved))

    assert "Expected only run bbbbbb of orders-to-iceberg to be alive; found cccccc." in answer
    assert orders.head == head
    assert [run.job_id for run in flink.runs(JOB) if run.state == "RUNNING"] == [job("c")]
    assert state(bot) is ProposalState.SUPERSEDED


def test_a_restore_point_that_changed_supersedes_it(
    approved: SeenMessage, ana: Responder, flink: Cluster, bot: LittleBot
) -> None:
    """What was approved is one savepoint with one digest, not whatever lies at its path now."""
    (flink.savepoints / f"savepoint-{GOOD_RUN[:6]}-{5:012x}" / "_metadata").write_bytes(b"something else")
    calls = flink.calls

    answer = ana.answer_to(lambda: ana.clicks("Execute", approved))

    assert "Expected restore point" in answer
    assert flink.calls == calls
    assert state(bot) is ProposalState.SUPERSEDED


def test_a_move_before_the_approval_is_seen_at_the_approval(
    collected: SeenMessage, ana: Responder, ben: Responder, orders: Orders, bot: LittleBot
) -> None:
    """Nobody approves what can no longer be carried out."""
    proposed = ana.proposes()
    orders.spark_appends()

    answer = ben.answer_to(lambda: ben.clicks("Approve", proposed))

    assert "spark app local-17" in answer
    assert state(bot) is ProposalState.SUPERSEDED
