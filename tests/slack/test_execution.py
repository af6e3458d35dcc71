"""The approved recovery is done once, proven, and refused when the world has moved."""

import pytest

from bot.diagnosis import another_writer_changed_rows
from bot.incident.diagnosis import Diagnosis, Matches, Mode, ModeResult, Remedy
from bot.incident.effects import MoveTable
from bot.incident.entries import Diagnosed
from bot.incident.execution import ProposalState
from bot.incident.journal import WATERLINE
from bot.incident.trust import TrustState
from bot.observation.errors import OutcomeUnknown
from bot.observation.ids import IncidentId, JobId, SnapshotId
from bot.ports import Stopped
from bot.workspace import SeenMessage, Workspace
from tests.little_flink import JOB
from tests.rewound import WRONG_RUN
from tests.slack.little_bot import Cluster, LittleBot
from tests.slack.orders import Orders
from tests.slack.people import PATIENCE_S, Responder, eventually
from tests.tables import ORDERS, job

WL = IncidentId("wl-1")


@pytest.fixture
def approved(collected: SeenMessage, ana: Responder, ben: Responder) -> SeenMessage:
    """A rewind that Ana proposed and Ben approved."""
    ben.clicks("Approve", ana.proposes())
    return ana.sees_on_proposal("Execute")


@pytest.fixture
def recovered(approved: SeenMessage, ana: Responder) -> SeenMessage:
    """The card after the proof and the two looks at the new head: consumers are to be told."""
    ana.clicks("Execute", approved)
    ana.sees("Verified at head")
    return ana.sees_on_card("Preview and send…")


@pytest.mark.smoke
def test_the_rewind_is_proven_and_the_waterline_moves(
    approved: SeenMessage, ana: Responder, orders: Orders, flink: Cluster
) -> None:
    """Stop, move, start, once each; every position exactly once; the table says that it is trusted."""
    before = len(flink.calls)

    ana.clicks("Execute", approved)
    proven = ana.sees("Verified at head")
    ana.sees_on_card("(trusted)")

    assert [call.split()[0] for call in flink.calls[before:]] == ["stop", "start"]
    assert flink.calls[before] == f"stop {WRONG_RUN}"
    assert orders.positions == list(range(70))
    assert orders.status == "trusted"
    assert orders.waterline == orders.head
    assert "The first commit is of a later checkpoint than 5" in proven.plain
    assert "No duplicate rows" in proven.plain
    assert "No missing rows" in proven.plain
    assert proven.thread_ts == approved.ts


@pytest.mark.smoke
def test_execute_clicked_twice_and_by_two_people_is_done_once(
    approved: SeenMessage, ana: Responder, ben: Responder, orders: Orders, flink: Cluster, slack: Workspace
) -> None:
    """One click starts it; every other one hears who started it and when."""
    before = len(flink.calls)
    slack.faults.doubles_clicks()

    ana.clicks("Execute", approved)
    ana.sees("Started.")
    late = ben.answer_to(lambda: ben.clicks("Execute", approved))
    ana.sees("Verified at head")

    assert "was started by @Ana Ribeiro at" in late
    assert [call.split()[0] for call in flink.calls[before:]] == ["stop", "start"]
    assert orders.positions == list(range(70))
    mine = [m.plain for m in ana.messages() if m.is_ephemeral]
    assert sum("Started." in told for told in mine) == 1
    assert sum("was started by" in told for told in mine) == 1


def test_what_was_previewed_is_what_is_sent(
    recovered: SeenMessage, ana: Responder, dana: Responder, orders: Orders, bot: LittleBot
) -> None:
    """The form shows each consumer's very text; after sending, each has it once."""
    ana.clicks("Preview and send…", recovered)
    preview = ana.reads_form()
    ana.submits()
    told = dana.sees("verified again", "revenue-analytics")
    ana.sees_on_card("Open the review")

    assert told.plain.partition("\nAcknowledge")[0] in preview
    assert {"Acknowledge", "I need help…"} <= set(told.buttons)
    assert f"{orders.head}" in told.plain
    assert not ana.has_modal


def test_a_form_that_is_submitted_twice_sends_once(
    recovered: SeenMessage, ana: Responder, ben: Responder, dana: Responder, eli: Responder, slack: Workspace
) -> None:
    """Two people preview and send, and one submission is redelivered: each consumer is told once."""
    for person in (ana, ben):
        person.clicks("Preview and send…", recovered)
        person.reads_form()

    slack.faults.doubles_deliveries()
    sent = ana.answer_to(ana.submits)
    again = ben.answer_to(ben.submits)
    slack.faults.redelivers()
    ana.sees_on_card("Open the review")

    assert "Sent to revenue_daily, fraud_model." in sent
    assert "These notices were already sent." in again
    for reader, channel in ((dana, "revenue-analytics"), (eli, "fraud-ml")):
        reader.sees("verified again", channel)
        assert sum("verified again" in m.plain for m in reader.messages(channel)) == 1


@pytest.mark.smoke
def test_the_walk_ends_with_review_and_a_whole_record(recovered: SeenMessage, ana: Responder, bot: LittleBot) -> None:
    """Told, reviewed, closed; the chain of the record is whole, and the record comes as files."""
    ana.clicks("Preview and send…", recovered)
    ana.reads_form()
    ana.submits()
    ana.clicks("Open the review", ana.sees_on_card("Open the review"))
    ana.clicks("Close…", ana.sees_on_card("Close…"))
    ana.fills_reason("Recovered and verified.")
    card = ana.sees_on_card("Closed by @Ana Ribeiro: Recovered and verified.")
    eventually(lambda: not ana.proposal.buttons, PATIENCE_S)

    ana.clicks("Export the record", card)
    eventually(lambda: ana.was_told("The files appear in the thread of wl-1.") == 1, PATIENCE_S)
    eventually(lambda: sum(each.plain.startswith("The record of wl-1.") for each in ana.card.replies) == 1, PATIENCE_S)

    assert bot.store.journal.verify() == ()
    assert not bot.services.store.get(WL).is_open


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

    assert f"now …{foreign % 1_000_000:06d} was committed by spark application local-17 at" in answer
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


@pytest.fixture
def unknown(collected: SeenMessage, ana: Responder, ben: Responder, flink: Cluster) -> SeenMessage:
    """A rewind whose stop got no answer, of a run that Flink does not know any more."""
    stop = flink.stop

    def lost(job: str, job_id: JobId, **how: bool) -> Stopped:
        stop(job, job_id, **how)
        flink.forgets(job_id)
        raise OutcomeUnknown("Flink did not answer.", "Expected an answer; the connection was cut.", "Look.")

    flink.stop = lost  # type: ignore[method-assign]
    ben.clicks("Approve", ana.proposes())
    execute = ana.sees_on_proposal("Execute")
    ana.answer_to(lambda: ana.clicks("Execute", execute))
    return ana.sees_on_proposal("Settle: it happened…")


def test_an_approver_settles_that_it_happened_and_the_execution_goes_on(
    unknown: SeenMessage, ana: Responder, ben: Responder, orders: Orders
) -> None:
    """The message says what can be seen; the proposer is refused; afterwards it shows who said what, and why."""
    ana.clicks("Settle: it happened…", unknown)
    own = ana.answer_to(lambda: ana.fills_reason("It is gone."))
    ben.clicks("Settle: it happened…", unknown)
    settled = ben.answer_to(lambda: ben.fills_reason("No process of it on any host."))
    shown = ana.sees_on_proposal("and verified at head")

    assert "Flink does not know run bbbbbb any more, and no history server is configured." in unknown.plain
    assert "an approver settles it with the buttons on the proposal" in unknown.plain
    assert "somebody else must settle whether it happened" in own
    assert settled == "Settled: it happened. The execution continues; follow it in the proposal's thread."
    assert "Step 2 happened, settled by @Ben Okafor at" in shown.plain
    assert "No process of it on any host." in shown.plain
    assert orders.positions == list(range(70))


def test_an_approver_settles_that_it_did_not_happen_and_something_else_can_be_proposed(
    unknown: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, orders: Orders
) -> None:
    """Before that a second proposal is refused with the way out; the execution ends, and nothing is repeated."""
    head = orders.head
    offered = ana.card.buttons
    refused = ana.asks("propose roll_back_table_and_restore_job")
    ben.clicks("Settle: it did not happen…", unknown)
    settled = ben.answer_to(lambda: ben.fills_reason("It writes on, under the old JobManager."))
    shown = ana.sees_on_proposal("Refused at execution")

    assert "Nothing can be proposed while the outcome of" in refused
    assert "settles it with the buttons on the proposal" in refused
    assert "Propose again" not in offered
    assert "Settled: it did not happen. The execution has ended" in settled
    assert "It writes on, under the old JobManager." in shown.plain
    assert "Settle" not in " ".join(shown.buttons)
    view = bot.services.store.get(WL).current_proposal
    assert view is not None
    eventually(lambda: view.state is ProposalState.REFUSED)
    assert orders.head == head
    assert "Nothing can be proposed while" not in ana.asks("propose roll_back_table_and_restore_job")


WL1 = IncidentId("wl-1")


def named(code: str, last_good: SnapshotId | None) -> ModeResult:
    """A mode that holds and asks for a restart of the job."""
    mode = Mode(code=code, name="told", title="told by the test", needs=(), false_positives=())
    match = Matches(headline="Told.", reasons=(), last_good=last_good, remedy=Remedy.RESTORE_JOB_ONLY)
    return ModeResult(mode=mode, examined=match)


def test_a_rewind_goes_to_below_the_oldest_fault_that_is_named(
    collected: SeenMessage, ana: Responder, bot: LittleBot
) -> None:
    """No match asks for it; two name the last snapshot before their fault."""
    table = bot.services.observer.observe("sales.orders").table
    newest, older = table.chain[0].snapshot_id, table.chain[3].snapshot_id
    results = (named("F0", newest), named("F00", None), named("F000", older))
    told = Diagnosed(diagnosis=Diagnosis(results=results))
    bot.services.store.write(WL1, by=WATERLINE, decide=lambda _incident: [told])

    ana.types("/waterline propose roll_back_table_and_restore_job only an older point is left", "orders-oncall")
    ana.sees_on_proposal("Approve")

    [view] = bot.services.store.get(WL1).proposals.values()
    [move] = [effect for effect in view.proposal.effects if isinstance(effect, MoveTable)]
    assert move.to in {s.snapshot_id for s in table.ancestors(older)}
    assert "only an older point is left" in view.proposal.because


@pytest.fixture
def forked(collected: SeenMessage, bot: LittleBot) -> None:
    """A second run is alive; the diagnosis takes run b for the fork."""
    bot.flink.submit(job("a"), at_checkpoint=6)
    mode = Mode(code="F0", name="told", title="told by the test", needs=(), false_positives=())
    fork = Matches(headline="Two runs write.", reasons=(), wrong_run=job("b"), remedy=Remedy.RESOLVE_FORK)
    told = Diagnosed(diagnosis=Diagnosis(results=(ModeResult(mode=mode, examined=fork),)))
    bot.services.store.write(WL1, by=WATERLINE, decide=lambda _incident: [told])


@pytest.mark.usefixtures("forked")
def test_the_run_to_keep_is_named_in_the_command(ana: Responder, bot: LittleBot) -> None:
    """By its first digits; an action that chooses none says so."""
    refused = ana.answer_to(lambda: ana.types("/waterline propose take_savepoint keep=bbbb", "orders-oncall"))
    ana.types("/waterline propose resolve_fork keep=bbbb it has the newer code", "orders-oncall")
    ana.sees_on_proposal("To keep run aaaaaa instead, propose resolve_fork keep=aaaaaa.")
    incident = bot.services.store.get(WL1)

    assert "does not choose between runs" in refused
    assert incident.kept_run == job("b")


FIRST = "F21 matches as well. Act on it before this is approved: stop the other writer"


@pytest.fixture
def beside(collected: SeenMessage, ana: Responder, orders: Orders, bot: LittleBot) -> None:
    """Another engine wrote (F21) above a restore from an older savepoint (F2); the evidence knows it."""
    orders.spark_appends()
    for task in ("ledger", "checkpoint_pairing"):
        bot.services.evidence.run_now(WL, task, None)
    ana.clicks("Diagnose again", ana.card)
    ana.sees("Act on F21, then F2")


def test_where_there_is_no_button_the_walk_goes_on_to_what_people_do(
    collected: SeenMessage, ana: Responder, bot: LittleBot
) -> None:
    """Another engine wrote, and nothing else is wrong: stopping it is nothing that Waterline can do, and the card says
    so at once."""
    match = Matches(
        headline="Another engine wrote.", reasons=(), remedy=Remedy.STOP_CULPRIT,
    )  # fmt: skip
    only = Diagnosis(results=(ModeResult(mode=another_writer_changed_rows.MODE, examined=match),))
    bot.services.store.write(WL, by=WATERLINE, decide=lambda _incident: [Diagnosed(diagnosis=only)])
    bot.services.diagnoses.diagnose_due(WL)

    card = ana.sees_on_card("Repair by hand")

    assert "Waterline has no action for “stop the other writer, then decide which of its changes stay”" in card.plain


@pytest.mark.usefixtures("beside")
def test_the_button_proposes_what_the_next_fault_asks_for(ana: Responder) -> None:
    """It was hidden behind the fault without one. The rows of the other writer are asked about, as ever."""
    card = ana.card

    refused = ana.answer_to(lambda: ana.clicks("Propose", card))

    assert "drop_others=yes" in refused


@pytest.mark.usefixtures("beside")
def test_who_approves_it_reads_what_comes_first(ana: Responder, bot: LittleBot) -> None:
    """The order is told in the preview, too."""
    ana.types("/waterline propose roll_back_table_and_restore_job drop_others=yes", "orders-oncall")
    ana.sees_on_proposal("Approve")

    [view] = bot.services.store.get(WL).proposals.values()
    assert any(sentence.startswith(FIRST) for sentence in view.proposal.preview.sentences)


PROPOSE = "propose verify_current_state Ben and I took the copies out by hand."


@pytest.fixture
def by_hand(collected: SeenMessage, orders: Orders, bot: LittleBot) -> IncidentId:
    """The wrong run is stopped and its copies are gone; Waterline did none of it. Two consumers read, one too early."""
    orders.read_by("revenue_daily", "run-7", orders.head)
    bot.flink.stop(JOB, job("b"))
    orders.read_by("fraud_model", "run-9", orders.somebody_mends())
    return WL


def test_nobody_is_told_that_it_recovered_before_it_is_proven(by_hand: IncidentId, ana: Responder) -> None:
    """The refusal names the way."""
    ana.opens_form("notify recovered")

    assert "The table is not verified yet" in ana.modal.plain
    assert "/waterline propose verify_current_state" in ana.modal.plain


def test_a_repair_by_hand_is_proven_approved_and_told(
    by_hand: IncidentId, ana: Responder, ben: Responder, dana: Responder, eli: Responder, orders: Orders, bot: LittleBot
) -> None:
    """The same evidence, another person's yes, the waterline on the proven head, and then the all-clear: whoever read
    the copies is asked to run again, and nobody else."""
    for task in ("duplicate_rows", "missing_positions"):
        bot.services.evidence.run_now(by_hand, task, None)
    ana.types(f"/waterline {PROPOSE}")
    asked = ana.sees_on_proposal("Trust the table as it is")
    ben.clicks("Approve", asked)
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    ana.sees_on_card("(trusted)")
    ana.opens_form("notify recovered")
    ana.submits()
    told = dana.sees("is verified again", "revenue-analytics")
    other = eli.sees("is verified again", "fraud-ml")
    trust = bot.services.trust.trust(ORDERS)

    assert "Neither main nor the job is changed." in asked.plain
    assert "took the copies out by hand" in asked.plain
    assert (orders.waterline, orders.status) == (orders.head, "trusted")
    assert (trust.state, trust.snapshot) == (TrustState.TRUSTED, orders.head)
    assert "run-7" in told.plain
    assert "Please run again: revenue_daily read rows that were wrong." in told.plain
    assert "You need not do anything." in other.plain


def test_a_table_that_still_counts_copies_cannot_be_trusted(collected: SeenMessage, ana: Responder) -> None:
    """The evidence at hand is named, and what to do."""
    told = ana.asks(PROPOSE)

    assert "The table cannot be trusted as it is." in told
    assert "run this evidence again" in told
