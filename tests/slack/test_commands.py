"""`/waterline`: each subcommand answers the person who typed it; the App Home."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from bot.incident.approval import ApprovalPolicy
from bot.incident.setup import Team, TeamMember
from bot.observation.ids import UserId
from bot.slack.commands import VERBS
from bot.workspace import SeenMessage, Workspace
from tests.little_flink import open_catalog
from tests.slack.little_bot import Cluster, LittleBot
from tests.slack.orders import Orders
from tests.slack.people import ONCALL, Responder, eventually


@pytest.mark.smoke
def test_help_lists_every_subcommand(ana: Responder) -> None:
    """Nobody has to know a subcommand by heart, and it fits a screen; one that is like none gets the list as well."""
    bare = ana.asks("")
    mistyped = ana.asks("xyzzy")
    rare = ana.asks("help freeze")

    assert len(VERBS) <= 14
    assert [name for name in VERBS if name not in re.findall(r"[a-z]+", bare)] == []
    assert len(bare.splitlines()) <= 16
    assert f"/waterline {VERBS['freeze'].usage}" in rare
    assert VERBS["freeze"].help in rare
    assert "There is no subcommand “xyzzy”" in mistyped
    assert "/waterline close REASON" in mistyped


def test_a_mistyped_subcommand_is_answered_with_the_one_that_is_meant(ana: Responder) -> None:
    """In one line that can be read at night, and not below the list of all."""
    told = ana.asks("opne")

    assert "There is no subcommand “opne”, and nothing was done." in told
    assert "/waterline open [TABLE]" in told
    assert "/waterline close REASON" not in told


def test_a_table_that_is_not_watched_is_named_in_the_form(ana: Responder) -> None:
    """The form says what was expected and found, and has nothing to submit."""
    ana.opens_form("open sales.refunds")

    assert "Waterline is not set up for a table sales.refunds." in ana.modal.plain
    assert "Configured are: sales.orders." in ana.modal.plain
    assert ana.modal.submit is None


def test_of_two_forms_that_are_submitted_one_opens(ana: Responder, ben: Responder, bot: LittleBot) -> None:
    """The later form is answered with the incident that the earlier one opened."""
    ana.opens_form()
    ben.opens_form()
    ana.submits()
    ana.sees_on_card("Run all")

    ben.submits()
    answer = ben.reads_form()

    assert "Incident wl-1 is open on sales.orders already." in answer
    assert ben.modal.submit is None
    assert len(bot.services.store.all()) == 1


def test_what_a_channel_without_incident_is_told(ana: Responder) -> None:
    """A subcommand that works on the channel's incident says how to open one."""
    answers = [ana.asks(verb) for verb in ("note it began at nine", "assign", "close done", "run ledger")]

    assert set(answers) == {"No incident is open in this channel. Open one with /waterline open."}
    assert ana.asks("status").splitlines() == [
        "No incident is open. Open one with /waterline open.",
        "sales.orders: trusted. No incident was ever opened on it. It has no known problem, but it was never verified.",
    ]


@pytest.mark.smoke
def test_status_and_commits_of_an_open_incident(collected: SeenMessage, ana: Responder, orders: Orders) -> None:
    """Each says what it knows, in the words of the table."""
    good = orders.commit_of("a", 5)

    status, ledger, of_table = ana.asks("status"), ana.asks("commits"), ana.asks("status sales.orders")

    assert "wl-1 sales.orders (sev2)" in status
    assert "Responder: @Ana Ribeiro." in status
    assert f"No known problem: snapshot {good}, up to" in status
    assert "Propose the repair" in status
    assert len(ledger.splitlines()) == 9
    assert f"…{orders.head % 1_000_000:06d} append, 10 rows, run bbbbbb checkpoint 6" in ledger.splitlines()[1]
    assert status.splitlines()[0] in of_table
    assert "Not watched" in of_table
    assert "No savepoint of the job of sales.orders is kept." in of_table


def test_status_says_whose_table_it_is(ana: Responder, bot: LittleBot) -> None:
    """Beside the trust of a table, and beside its open incident; a name from the contract formats nothing."""
    setup = next(iter(bot.services.observer.tables.values()))
    dana = TeamMember(name="Dana", role="Owner", slack=UserId("U0DANA0004"))
    team = Team(name="Orders *team*", members=(TeamMember(name="Gil"), dana))
    bot.services.observer.tables = {setup.name: setup.model_copy(update={"team": team})}

    quiet = ana.asks("status")
    ana.opens()
    of_incident = ana.asks("status")

    says = "Owned by Orders ∗team∗: @Dana Lind (Owner), Gil."
    assert quiet.count(says) == of_incident.count(says) == 1
    assert of_incident.splitlines()[-1].endswith(says)


@pytest.mark.smoke
def test_a_note_and_an_assignment_are_in_the_record(collected: SeenMessage, ana: Responder, bot: LittleBot) -> None:
    """What is typed is in the thread, and mentions nobody; empty words and strangers are refused."""
    noted = ana.asks("note deployed <!channel> at 9")
    empty = ana.asks("note")
    assigned = ana.asks("assign @ben")
    stranger = ana.asks("assign somebody")
    ana.sees_on_card("Responder\n@Ben Okafor")
    shown = ana.sees("deployed").plain

    assert noted == "Noted in wl-1."
    assert "The note is empty." in empty
    assert assigned == "@Ben Okafor is the responder of wl-1."
    assert "“somebody” is not a person." in stranger
    assert "deployed <!channel> at 9" in shown
    assert "<!channel>" not in "".join(str(m.shown) for m in ana.messages(ONCALL))


def test_bounds_of_a_replay_are_typed_behind_the_action(collected: SeenMessage, ana: Responder) -> None:
    """They reach the action, which says what it lacks; one that takes none says so."""
    refused = ana.asks("propose take_savepoint positions=1..9 for the upgrade")
    bounded = ana.asks("propose replay_rows positions=1..9 the rollback was a mistake")

    assert "“Take the savepoint” takes no bounds. Expected none; found positions=." in refused
    assert "no replay is declared for it" in bounded


def test_closing_needs_a_reason_and_no_undecided_proposal(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """An incident ends once, with a reason, and never over a proposal that waits."""
    without = ana.asks("close")
    proposal = ana.proposes()
    undecided = ana.asks("close it is fine")
    ben.clicks("Reject…", proposal)
    ben.fills_reason("It was planned.")
    ana.sees_on_proposal("Rejected")
    closed = ana.asks("close Anyway: the replay was planned.")
    card = ana.sees_on_card("Closed by @Ana Ribeiro: Anyway: the replay was planned.")
    again = ana.asks("close again")

    assert "The incident is not closed: the reason is missing." in without
    assert "is proposed. An incident with an undecided" in undecided
    assert closed.startswith("wl-1 is closed.")
    assert "Run all" not in card.buttons
    assert "No incident is open in this channel." in again


@pytest.mark.parametrize("verb", ["close it is over", "unfreeze"])
def test_whoever_does_not_respond_neither_closes_nor_unfreezes(
    collected: SeenMessage, ana: Responder, ben: Responder, verb: str
) -> None:
    """Both let expiry run again. Whoever takes the incident over is on record with that, and may."""
    refused = ben.asks(verb)
    ben.asks("assign")
    done = ben.asks(verb)

    assert "You do not respond to wl-1, so you cannot" in refused
    assert "take over first: /waterline assign" in refused
    assert "You do not respond" not in done


@pytest.mark.parametrize("typed", ["run nonsense", "commits sales.refunds", "status sales.refunds"])
def test_what_cannot_be_done_names_what_can(collected: SeenMessage, ana: Responder, typed: str) -> None:
    """An unknown task or table is answered with those that are known."""
    answer = ana.asks(typed)

    assert "duplicate_rows" in answer or "Configured are: sales.orders" in answer


def test_everything_is_acknowledged_before_any_work(
    ana: Responder, ben: Responder, flink: Cluster, bot: LittleBot, slack: Workspace
) -> None:
    """While others wait for Flink, a command is acknowledged in time, and answered."""
    flink.answers.clear()
    for _ in range(3):
        ana.types("/waterline open")
    eventually(lambda: "Checking the table" in ana.modal.plain)

    outcome = ben.types("/waterline status")
    ben.sees("No incident is open.")
    flink.answers.set()

    assert outcome.outcome == "acked"
    assert all(entry.error is None for entry in slack.wire("delivery"))


@pytest.mark.smoke
def test_the_proposer_is_shown_their_incident_and_nothing_to_approve(
    collected: SeenMessage, ana: Responder, finn: Responder
) -> None:
    """Nobody approves their own proposal, and who is no approver has nothing waiting either."""
    ana.proposes()

    proposer, outsider = ana.home().plain, finn.home().plain

    assert "Waiting for your approval" not in proposer + outsider
    assert "Your incidents\n• wl-1" in proposer
    assert "Open incidents\n• wl-1" in outsider
    assert "the proposal expires, wl-1" in proposer


def test_a_consumers_owner_is_shown_their_table_first_and_why_it_is_doubted(
    collected: SeenMessage, dana: Responder, finn: Responder
) -> None:
    """Dana answers for a job that reads the table; Finn for none."""
    owner, outsider = dana.home().plain, finn.home().plain

    assert "Your tables\n" in owner
    assert "sales.orders under review, waterline at …" in owner.replace("`", "")
    assert "Incident wl-1 is open on it." in owner
    assert "Your tables" not in outsider


def test_a_table_that_cannot_be_read_is_not_shown_as_trusted(ana: Responder, folder: Path) -> None:
    """The catalog does not have it any more: not knowing is shown as that, at Home and in the status."""
    with closing(open_catalog(folder)) as catalog:
        catalog.drop_table("sales.orders")

    home, status = ana.home().plain, ana.asks("status")

    assert "sales.orders unknown." in home.replace("`", ""), home
    assert "sales.orders: unknown." in status, status
    assert "trusted." not in home + status


def test_an_approver_sees_what_they_decide_about_and_the_notices_that_wait(
    ana: Responder, ben: Responder, finn: Responder, bot: LittleBot
) -> None:
    """By their user group in Slack; when they have agreed, nothing waits any more."""
    setup = next(iter(bot.services.observer.tables.values()))
    policies = {**setup.policies, "notice:warning": ApprovalPolicy(groups=("S0APPROVE1",))}
    bot.services.observer.tables = {setup.name: setup.model_copy(update={"policies": policies})}
    ana.opens_and_warns()
    waiting = ben.sees("please read and send it")

    before, outsider = ben.home().plain, finn.home().plain
    ben.clicks("Read and send…", waiting)
    ben.reads_form()
    ben.submits()
    ben.sees("sent by")
    after = ben.home().plain

    assert "Waiting for your approval\n• wl-1 sales.orders: the notice “warning” for" in before.replace("`", "")
    assert "Waiting for your approval" not in outsider + after
