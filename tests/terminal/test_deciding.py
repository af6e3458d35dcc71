"""A proposal is shown, decided, begun and proven in a terminal, by the same rule as in Slack."""

import os
import pwd
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import Result
from ruamel.yaml import YAML
from typer.testing import CliRunner

from bot.adapters.journal_sql.store import open_store
from bot.cli.proposal import app, show_proposal
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.incident import Incident, fold
from bot.incident.proposal import OtherRows, Proposal
from bot.observation.errors import WaterlineError
from bot.observation.ids import UserId, short
from bot.observation.sentences import clock_time
from tests import orders_table as orders
from tests.approval.desk import Desk
from tests.decisions import ANA, BEN, EVE
from tests.incidents import Story
from tests.orders_table import JOB


@dataclass
class Terminal:
    """A host with a record in which Ana has proposed a rewind; the login of the tests is bound to somebody."""

    folder: Path
    story: Story
    is_somebody: UserId | None = BEN

    def types(self, *arguments: str) -> Result:
        login = pwd.getpwuid(os.getuid()).pw_name
        people = {login: self.is_somebody} if self.is_somebody else {}
        catalog = {"type": "sql", "uri": f"sqlite:///{self.folder}/c.db", "warehouse": f"file://{self.folder}/lake"}
        table = {"contract": {"key": ["order_id"]}, "job": JOB, "policies": {"default": {"users": [BEN]}}}
        content = {
            "home": "home",
            "catalog": {"name": "lake", "properties": catalog},
            "jobs": {JOB: {"flink": "http://127.0.0.1:9"}},
            "tables": {"sales.orders": table},
            "terminal": {"people": people},
        }
        config = self.folder / "waterline.yaml"
        with config.open("w") as file:
            YAML().dump(content, file)
        return CliRunner().invoke(app, [*arguments, "--config", str(config)])

    @property
    def incident(self) -> Incident:
        """As the record tells it."""
        store = open_store(self.url)
        try:
            return fold(store.journal.entries(store.journal.incidents()[0]))
        finally:
            store.close()

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder}/home/journal.db"


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """No Slack token: user groups cannot be read, and the policy names people."""
    monkeypatch.delenv("SLACK_BOT_TOKEN", raising=False)
    (tmp_path / "home").mkdir()
    store = open_store(f"sqlite:///{tmp_path}/home/journal.db")
    yield Terminal(tmp_path, Story(store.journal, start=datetime.now(UTC)).opens().proposes())
    store.close()


def told(result: Result) -> str:
    """What the command refused, in its three parts."""
    assert isinstance(result.exception, WaterlineError), result.output
    return str(result.exception)


def test_the_proposal_is_shown_with_what_is_approved(terminal: Terminal) -> None:
    """What it does, how to undo it, the digest, and who is still to approve."""
    shown = terminal.types("show", "wl-1").output
    proposal = next(iter(terminal.incident.proposals.values())).proposal

    assert "Roll back table and job to checkpoint 10 (proposed)" in shown
    assert "1. Stop run b92e04." in shown
    assert f"Digest: {proposal.digest[:12]}" in shown
    assert f"Needs 1 approval until {clock_time(proposal.expires_at)}" in shown


def test_a_login_that_is_bound_to_nobody_decides_nothing(terminal: Terminal) -> None:
    """Whoever has a shell on the host is not therefore an approver."""
    terminal.is_somebody = None

    refused = told(terminal.types("reject", "wl-1", "--reason", "No."))

    assert "Expected it in `terminal.people`" in refused
    assert ProposalState.PROPOSED is next(iter(terminal.incident.proposals.values())).state


@pytest.mark.parametrize(("who", "answer"), [(ANA, "You proposed this"), (EVE, "You are not an approver for this.")])
def test_the_rule_is_that_of_slack(terminal: Terminal, who: UserId, answer: str) -> None:
    """Neither the proposer nor an outsider gets past it here."""
    terminal.is_somebody = who
    digest = next(iter(terminal.incident.proposals.values())).proposal.digest

    assert answer in told(terminal.types("approve", "wl-1", "--digest", digest[:12]))


@pytest.mark.parametrize("typed", ["0123456789ab", "", "0"])
def test_what_is_approved_is_named_by_its_digest(terminal: Terminal, typed: str) -> None:
    """Another digest, or too little of it, approves nothing."""
    whole = next(iter(terminal.incident.proposals.values())).proposal.digest

    refused = told(terminal.types("approve", "wl-1", "--digest", typed if typed != "0" else whole[:11]))

    assert "This is not the digest of the newest proposal" in refused
    assert whole[:12] not in refused
    assert ProposalState.PROPOSED is next(iter(terminal.incident.proposals.values())).state


def test_nobody_approves_what_cannot_be_looked_at(terminal: Terminal) -> None:
    """The world is looked at for a yes from a terminal, too: this host's catalog does not have the table."""
    digest = next(iter(terminal.incident.proposals.values())).proposal.digest

    refused = told(terminal.types("approve", "wl-1", "--digest", digest[:12]))

    assert "sales.orders" in refused
    assert ProposalState.PROPOSED is next(iter(terminal.incident.proposals.values())).state


def test_a_rejection_is_in_the_record_under_the_slack_user_id(terminal: Terminal) -> None:
    """Doing it twice is answered with who did it."""
    first = terminal.types("reject", "wl-1", "--reason", "Ask the owners.")
    again = told(terminal.types("reject", "wl-1", "--reason", "Ask the owners."))

    view = next(iter(terminal.incident.proposals.values()))
    assert "Rejected: Roll back table and job" in first.output
    assert (ProposalState.REJECTED, BEN) == (view.state, view.ended_by)
    assert f"was rejected by <@{BEN}> at" in again


def test_an_unknown_outcome_is_settled_by_the_same_rule(terminal: Terminal) -> None:
    """Flink cannot be asked from here, so nobody else could tell either: the word of an approver ends it."""
    terminal.story.approves().loses_the_answer_to_its_stop()
    shown = terminal.types("show", "wl-1").output
    terminal.is_somebody = ANA
    own = told(terminal.types("settle", "wl-1", "--did-not-happen", "--reason", "It still writes."))
    terminal.is_somebody = BEN

    settled = terminal.types("settle", "wl-1", "--did-not-happen", "--reason", "It still writes.")

    view = next(iter(terminal.incident.proposals.values()))
    assert "waterline proposal settle" in shown
    assert "somebody else must settle" in own
    assert "Settled: it did not happen." in settled.output
    assert (ProposalState.REFUSED, BEN, "terminal") == (view.state, view.settled[0].by, view.settled[0].via)


def printed(capsys: pytest.CaptureFixture[str], proposal: Proposal) -> str:
    """What `show` prints of it."""
    show_proposal(ProposalView(proposal=proposal, step=None), fold(Desk().entries).runs, {})
    return capsys.readouterr().out


def test_counts_readers_and_requirements_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """With what a yes means."""
    proposal = Desk().proposal
    others = (OtherRows(writer="spark application local-17", commits=(orders.HEAD,), rows=3),)
    preview = proposal.preview.model_copy(update={"others": others})

    told = printed(capsys, proposal.model_copy(update={"preview": preview}))

    assert "3 commits, 6 files, 300 rows" in told
    assert f"Read by revenue_daily, run run-42: snapshot {orders.HEAD}" in told
    assert proposal.preview.sure in told
    assert f"The table still lists snapshot {short(orders.GOOD)}." in told
    assert f"Evidence: {proposal.evidence[0]}" in told
    assert f"3 rows of spark application local-17 (commits {orders.HEAD})" in told


def test_an_escape_in_a_reason_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    """It is shown by its number, as in errors."""
    told = printed(capsys, Desk().proposal.model_copy(update={"because": "fine\x1b[2A\x1b[2Know"}))

    assert "\x1b" not in told
    assert "[U+001B][2A" in told
