"""An approved proposal is begun, carried out and proven from a terminal, though Slack is down."""

from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result

from bot.adapters.journal_sql.store import open_store
from bot.cli import proposal as terminal
from bot.incident.execution import ProposalState
from bot.observation.errors import OutcomeUnknown, WaterlineError
from tests.decisions import EVE
from tests.rewound import ANA, BEN
from tests.terminal.executing import Host

BEGUN = "“Roll back table and job to checkpoint 5” is started."


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """With an approved rewind, and no bot."""
    return Host.made_in(tmp_path, monkeypatch)


def told(result: Result) -> str:
    """What the command refused, in its three parts."""
    assert isinstance(result.exception, WaterlineError), result.output
    return str(result.exception)


def steps(output: str) -> list[str]:
    """The lines about steps, up to the word that says how they ended."""
    return [line.partition(".")[0].partition(",")[0] for line in output.splitlines() if " of the execution" in line]


STEPS = [f"Step {n} of the execution{how}" for n in (1, 2, 3) for how in (" starts", ": done")]


def test_where_no_bot_runs_it_is_carried_out_from_here_to_its_proof(host: Host) -> None:
    """Step by step, with the outcome and the proof; a second time it is told that it was done."""
    done = host.executes()
    again = told(host.executes())

    assert done.exit_code == 0
    assert f"{BEGUN}\nNo bot uses this record" in done.output
    assert steps(done.output) == STEPS
    assert "done. Verification starts now." in done.output
    assert "4 of 4 checks hold." in done.output
    assert "No duplicate rows: holds. Every key lives exactly once." in done.output
    assert host.calls == ["stop", "start"]
    assert (ANA, ProposalState.APPLIED) == (host.view.executed_by, host.view.state)
    assert f"was started by <@{ANA}> at" in again


def test_a_bot_that_runs_carries_it_out_and_the_command_shows_it(host: Host) -> None:
    """It is begun in the record, from where the bot takes it; nothing is done twice."""
    with host.bot_runs():
        done = host.executes()

    assert done.exit_code == 0
    assert f"{BEGUN}\nA running bot uses this record" in done.output
    assert steps(done.output) == STEPS
    assert host.calls == ["stop", "start"]


@pytest.mark.full
def test_where_the_bot_ends_before_it_has_done_it_the_command_goes_on(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would otherwise wait for somebody who does not come back."""
    monkeypatch.setattr(terminal, "_ROUND_S", 0.2)
    with closing(open_store(host.url)) as bot:
        bot.presence.join()
        taken = terminal.Place.taken

        def leaves_once_it_is_seen(place: terminal.Place) -> bool:
            is_taken = taken(place)
            if not is_taken:
                bot.presence.leave()
            return is_taken

        monkeypatch.setattr(terminal.Place, "taken", leaves_once_it_is_seen)

        done = host.executes()

    assert done.exit_code == 0
    assert "The bot has stopped, so this command continues." in done.output
    assert host.calls == ["stop", "start"]


@pytest.mark.full
def test_a_bot_that_runs_does_not_keep_people_from_deciding(host: Host) -> None:
    """Also on a record that only one bot may work on: what was decided is in the record that it reads."""
    with host.bot_runs():
        rejected = host.types("reject", "wl-1", "--reason", "Ask the owners.")

    assert "Rejected: Roll back table and job" in rejected.output
    assert (ProposalState.REJECTED, ANA) == (host.view.state, host.view.ended_by)


@pytest.mark.full
def test_who_may_begin_is_as_in_slack(host: Host) -> None:
    """The proposer or an approver; nothing is done for anybody else."""
    host.who = EVE

    refused = told(host.executes())

    assert "Only the proposer or an approver may run it." in refused
    assert ProposalState.APPROVED is host.view.state
    assert host.calls == []


@pytest.mark.full
def test_an_approver_may_begin_it(host: Host) -> None:
    """Whoever proposed it may be asleep."""
    host.who = BEN

    assert host.executes().exit_code == 0
    assert host.view.executed_by == BEN


@pytest.mark.full
@pytest.mark.parametrize("typed", ["0123456789ab", "", "short"])
def test_what_is_begun_is_named_by_its_digest(host: Host, typed: str) -> None:
    """Another digest, or too little of it, begins nothing."""
    refused = told(host.types("execute", "wl-1", "--digest", host.view.proposal.digest[:11] if typed else typed))

    assert "This is not the digest of the newest proposal" in refused
    assert "waterline proposal show wl-1" in refused
    assert host.calls == []


@pytest.mark.full
def test_what_was_rejected_is_not_begun(host: Host) -> None:
    """The answer says who did, and when."""
    host.types("reject", "wl-1", "--reason", "Ask the owners.")

    assert f"was rejected by <@{ANA}>" in told(host.executes())


@pytest.mark.full
def test_a_step_of_which_nobody_knows_ends_the_command_and_is_looked_at_again(host: Host) -> None:
    """Exit code 2, and what to do; the next time it is looked at, not repeated."""
    stop, run = host.flink.stop, host.flink.run

    def lost(*args: object, **how: object) -> object:
        stop(*args, **how)  # type: ignore[arg-type]
        host.flink.run = lambda _job: None  # type: ignore[method-assign]
        raise OutcomeUnknown("Flink did not answer.", "", "")

    host.flink.stop = lost  # type: ignore[assignment]
    unknown = host.executes()
    still = host.executes()
    host.flink.run = run  # type: ignore[method-assign]
    found = host.executes()

    assert (unknown.exit_code, still.exit_code, found.exit_code) == (2, 2, 0)
    assert "outcome unknown." in unknown.output
    assert "Start a bot or run this command again" in unknown.output
    assert f"was started by <@{ANA}> at" in still.output
    assert "outcome unknown." in still.output
    assert "found after an interruption" in found.output
    assert host.calls == ["stop", "start"]


@pytest.mark.full
def test_a_table_that_moved_is_told_and_nothing_is_begun(host: Host) -> None:
    """As at the click: the requirements are looked at once more."""
    host.backfill_commits()

    assert "was committed by" in told(host.executes())
    assert ProposalState.SUPERSEDED is host.view.state
    assert host.calls == []
