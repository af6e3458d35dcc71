"""`waterline proposal`: propose and decide in a terminal, by the same rule as in Slack."""

import os
import pwd
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from slack_sdk import WebClient

from bot.adapters.journal_sql.membership import Presence
from bot.adapters.journal_sql.store import existing_record
from bot.bootstrap import Built, build
from bot.cli.options import DEFAULT_CONFIG, ConfigOption, NobodyThere
from bot.incident.approval import missing_in_words, whom_to_ask
from bot.incident.asked import typed_proposal
from bot.incident.decisions import (
    HOW_TO_SETTLE,
    Approve,
    BreakGlass,
    Reject,
    ResolveUnknown,
    Veto,
    approval_counts,
    approved_by,
    last_approval_at,
    settlement_counts,
    unknown_effect,
)
from bot.incident.entries import Verified
from bot.incident.execution import AT_WORK, ProposalState, ProposalView
from bot.incident.incident import EvidenceRun, Incident, cited
from bot.incident.proposal import Preview, requirement_sentence, returns
from bot.incident.waterline import is_marked
from bot.observation.errors import Refused
from bot.observation.evidence import Task
from bot.observation.ids import EvidenceId, IncidentId, UserId, short
from bot.observation.sentences import clock_time, counted, visible
from bot.ports import Directory
from bot.service.proposals.approving import Approvals
from bot.service.timeline import sentence
from bot.settings import Settings, SlackSecrets
from bot.slack.directory import SlackDirectory

DIGEST_SHOWN = 12
console = Console(soft_wrap=True, highlight=False)


def show_proposal(view: ProposalView, runs: Mapping[EvidenceId, EvidenceRun], tasks: Mapping[str, Task]) -> None:
    """What it does, takes off main and requires, the evidence that it cites of `runs`, its digest, and who is still to
    approve."""
    proposal = view.proposal
    say(f"{proposal.title} ({view.state.value}), proposed by <@{proposal.proposed_by}>\n{proposal.because}")
    for number, step in enumerate(proposal.preview.sentences, start=1):
        say(f"  {number}. {step}")
    for term in proposal.preview.recorded:
        say(f"  {term.name}: {term.says}")
    for line in _consequences(proposal.preview):
        say(line)
    say("It runs only while all of this holds:")
    for requirement in proposal.requirements:
        say(f"  {requirement_sentence(requirement)}")
    say(f"Evidence: {', '.join(cited(proposal, runs, tasks)) or 'none, because people asked for it'}")
    say(f"How to undo it: {proposal.undo}\nDigest: {proposal.digest[:DIGEST_SHOWN]}")
    if view.approvals:
        say(approved_by(view))
    if view.state is ProposalState.UNKNOWN and view.result is not None:
        say(f"{view.result.sentence}\n{HOW_TO_SETTLE}")
    if view.state is ProposalState.PROPOSED:
        needs = missing_in_words(proposal.policy, view.approvals)
        ask = whom_to_ask(proposal.policy, proposal.proposed_by, view.approvals)
        say(f"Needs {needs} until {clock_time(last_approval_at(view))}; the proposer cannot approve. {ask}")


def _consequences(preview: Preview) -> list[str]:
    """What leaves main, who has read it, and what a yes means."""
    counts = (counted(preview.commits, "commit"), counted(preview.files, "file"), counted(preview.rows, "row"))
    lines = [f"What it removes from main: {', '.join(counts)}"]
    for other in preview.others:
        commits = ", ".join(str(each) for each in other.commits)
        told = f"{counted(other.rows, 'row')} of {other.writer} (commits {commits}){returns(other)}"
        lines.append(f"  The job does not read these again: {told}")
    if not preview.readers_known:
        lines.append("  Which consumers read them is not known: the lineage source could not be asked.")
    lines += [
        f"  Read by {run.consumer}, run {run.run_id}: snapshot {run.snapshot_id} at {run.at:%Y-%m-%d %H:%M:%S} UTC"
        for run in preview.affected_runs
    ]
    return [*lines, f"What approving means: {preview.sure}"]


def say(text: str) -> None:
    """Line by line, nothing hidden: text that people typed cannot move the cursor over what was said before it."""
    for line in text.split("\n"):
        console.print(visible(line), markup=False)


PROVEN, NOT_DONE, NOT_KNOWN = 0, 1, 2
"""Exit codes: carried out and proven; refused, or carried out and not proven; nobody knows what became of a step."""
_LOOK_EVERY_S = 0.3
_PAUSE_S = 5.0
"""Before something that waits for the world is looked at again."""
_ROUND_S = 20.0
"""As often as the bot looks at what it owes."""
_HERE = (
    "No bot uses this record, so this command runs the steps. If you stop it, start a bot or run the command again: "
    "it checks the last step first, and repeats nothing."
)
_BOT = (
    "A running bot uses this record, and starts within half a minute. This command only shows the progress; you can "
    "stop it at any time."
)
_GONE = "The bot has stopped, so this command continues."

_AGAIN = "Start a bot or run this command again: it checks the step again."
_BY_ITSELF = "The running bot checks it again."


class Place:
    """Whether this process does what is owed, or whoever works on the record already."""

    def __init__(self, presence: Presence) -> None:
        self._presence = presence
        self.is_here = False

    def taken(self) -> bool:
        """Whether it is done here from now on; asked anew each time, for a bot may have ended."""
        self.is_here = self.is_here or self._presence.join_alone()
        return self.is_here

    def is_leader(self) -> bool:
        """As the presence says it; nothing is this process's to do before it has taken its place."""
        return self.is_here and self._presence.is_leader()


def carried_out(built: Built, place: Place, incident_id: IncidentId, view: ProposalView, by: UserId) -> int:
    """Begin the proposal unless it is begun already, and follow it; the exit code. Raises Refused, Superseded,
    CouldNotLook where it may not be begun."""
    services, incident = built.services, built.services.store.get(incident_id)
    told = _Followed(incident, view)
    if _is_owed(incident, view):
        at = f" at {view.execution_started_at:%H:%M:%S} UTC" if view.execution_started_at else ""
        say(f"“{view.proposal.title}” was started by <@{view.executed_by}>{at}, and continues.")
        for line in _proof(view.verified) if view.verified is not None else ():
            say(line)
    else:
        services.approvals.may_begin(incident_id, view.proposal.id, by)
        services.executions.begin(incident_id, view.proposal.id, by=by)
        say(f"“{view.proposal.title}” is started.")
    say(_HERE if place.taken() else _BOT)
    while True:
        looked = _one_round(built, place, told, incident_id)
        code = told.end(services.store.get(incident_id), is_here=place.is_here, has_looked=looked)
        if code is not None:
            return code
        if looked:
            time.sleep(_PAUSE_S)


def _is_owed(incident: Incident, view: ProposalView) -> bool:
    """Whether something of what was begun is still to be done: a step, the proof, or the mark that follows it."""
    is_proven = view.verified is not None and is_marked(incident)
    return view.state in AT_WORK or (view.state is ProposalState.APPLIED and not is_proven)


def must_be_meant(view: ProposalView, digest: str, incident: str) -> None:
    """Raises Refused unless what was typed is the beginning of the proposal's digest."""
    if len(digest) < DIGEST_SHOWN or not view.proposal.digest.startswith(digest):
        raise Refused(
            "This is not the digest of the newest proposal, so nothing was done.",
            f"Expected the digest of “{view.proposal.title}”; found {digest or 'nothing'}.",
            f"Read the proposal again: waterline proposal show {incident}.",
        )


def _one_round(built: Built, place: Place, told: "_Followed", incident_id: IncidentId) -> bool:
    """Have it carried on where that is this process's to do, and tell what is new; whether it has looked here."""
    services, looked, was_here = built.services, threading.Event(), place.is_here
    if place.taken():
        if not was_here:
            say(_GONE)
        services.reconciler.recover(incident_id, looked.set)
    until = time.monotonic() + _ROUND_S
    while not looked.wait(_LOOK_EVERY_S) and time.monotonic() < until:
        incident = services.store.get(incident_id)
        told.tells(incident)
        if not place.is_here and (told.is_over(incident) or told.is_unknown(incident)):
            break
    told.tells(services.store.get(incident_id))
    return looked.is_set()


class _Followed:
    """One proposal, and how much of its incident's record has been said."""

    def __init__(self, incident: Incident, view: ProposalView) -> None:
        self._seen = len(incident.entries)
        self._id = view.proposal.id
        self._was = view.state

    def tells(self, incident: Incident) -> None:
        """Every new entry, one after the other, as the record has it."""
        for entry in incident.entries[self._seen :]:
            for line in _proof(entry.body) if isinstance(entry.body, Verified) else (sentence(entry),):
                say(line)
        self._seen = len(incident.entries)

    def is_unknown(self, incident: Incident) -> bool:
        return incident.proposals[self._id].state is ProposalState.UNKNOWN

    def is_over(self, incident: Incident) -> bool:
        view = incident.proposals[self._id]
        return view.state not in AT_WORK and (view.state is not ProposalState.APPLIED or view.verified is not None)

    def end(self, incident: Incident, *, is_here: bool, has_looked: bool) -> int | None:
        """The exit code, with the last word where a step is unknown; None while more comes."""
        view = incident.proposals[self._id]
        if self.is_unknown(incident) and (has_looked or not is_here):
            if self._was is ProposalState.UNKNOWN and view.result is not None:
                say(view.result.sentence)
            say(f"{_AGAIN if is_here else _BY_ITSELF} {HOW_TO_SETTLE}")
            return NOT_KNOWN
        if not self.is_over(incident):
            return None
        return PROVEN if view.verified is not None and view.verified.passed else NOT_DONE


def _proof(verified: Verified) -> list[str]:
    held = sum(1 for check in verified.checks if check.passed)
    what = "Proven" if verified.passed else "Not proven"
    words = {True: "holds", False: "does not hold", None: "could not look"}
    return [
        f"{what} at head {short(verified.head)}: {held} of {counted(len(verified.checks), 'check')} hold.",
        *(f"  {check.name}: {words[check.passed]}. {check.sentence}" for check in verified.checks),
    ]


app = typer.Typer(
    help="Show, decide and run proposals. It works while Slack is down.", no_args_is_help=True, add_completion=False
)

IncidentArgument = Annotated[str, typer.Argument(help="Id of the incident, for example wl-1.")]
DigestOption = Annotated[
    str, typer.Option(help=f"Digest of what you approve, at least {DIGEST_SHOWN} characters. `show` prints it.")
]
ReasonOption = Annotated[str, typer.Option(help="Reason, for the record.")]


@app.command()
def show(incident: IncidentArgument, config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Show the newest proposal: what it does, its digest, and who must still approve."""
    with _beside(config) as (_settings, built, _place):
        _show(built, incident)


@app.command()
def propose(
    incident: IncidentArgument,
    action: Annotated[str, typer.Argument(help="Name of the action, for example roll_back_table_and_restore_job.")],
    bounds: Annotated[
        list[str] | None,
        typer.Argument(
            help="For replay_rows: bounds like positions=1200..1500 (docs/replay.md). For a rollback: drop_others=yes."
        ),
    ] = None,
    keep: Annotated[str, typer.Option(help="If two runs write: the id of the run to keep (prefix).")] = "",
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Propose an action for the diagnosis."""
    with _alone(config) as (settings, built):
        by, typed = _who(settings), typed_proposal(" ".join((action, *(bounds or ()))))
        built.services.proposals.propose(
            IncidentId(incident),
            action,
            step=None,
            by=by,
            reason=typed.reason,
            keeps=keep.lower() or typed.keeps,
            bounds=typed.bounds,
            drops_others=typed.drops_others,
        )
        _show(built, incident)


@app.command()
def approve(incident: IncidentArgument, digest: DigestOption, config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Approve the newest proposal, as `show` printed it."""
    with _deciding(incident, config) as (approvals, view, by):
        must_be_meant(view, digest, incident)
        act = Approve(digest=view.proposal.digest, via="terminal")
        after = approvals.act(IncidentId(incident), view.proposal.id, act, by=by)
        say(approval_counts(after))


@app.command("break-glass")
def break_glass(
    incident: IncidentArgument, digest: DigestOption, reason: ReasonOption, config: ConfigOption = DEFAULT_CONFIG
) -> None:
    """Approve the newest proposal alone, in an emergency. The owners are notified at once."""
    with _deciding(incident, config) as (approvals, view, by):
        must_be_meant(view, digest, incident)
        act = BreakGlass(digest=view.proposal.digest, reason=reason, via="terminal")
        after = approvals.act(IncidentId(incident), view.proposal.id, act, by=by)
        say(approval_counts(after))


@app.command()
def reject(incident: IncidentArgument, reason: ReasonOption, config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Reject the newest proposal, or withdraw your own."""
    with _deciding(incident, config) as (approvals, view, by):
        approvals.act(IncidentId(incident), view.proposal.id, Reject(reason=reason, via="terminal"), by=by)
        say(f"Rejected: {view.proposal.title}.")


@app.command()
def veto(incident: IncidentArgument, reason: ReasonOption, config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Stop the newest proposal, although others approve it."""
    with _deciding(incident, config) as (approvals, view, by):
        approvals.act(IncidentId(incident), view.proposal.id, Veto(reason=reason, via="terminal"), by=by)
        say(f"Vetoed: {view.proposal.title}.")


@app.command()
def execute(incident: IncidentArgument, digest: DigestOption, config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Run the newest proposal after it was approved. A running bot does it; without one, this command does.

    Exit code 0: done and proven. 1: refused, or not proven. 2: the result of a step is not known.
    """
    with _beside(config) as (settings, built, place):
        by, view = _who(settings), _newest(built, incident)
        must_be_meant(view, digest, incident)
        if code := carried_out(built, place, IncidentId(incident), view, by):
            raise typer.Exit(code)


@app.command()
def settle(
    incident: IncidentArgument,
    happened: Annotated[bool, typer.Option("--happened/--did-not-happen", help="Whether the unknown step happened.")],
    reason: ReasonOption,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Say whether a step of unknown result happened. The execution then continues or ends."""
    with _deciding(incident, config) as (approvals, view, by):
        index = unknown_effect(view)
        act = ResolveUnknown(index=-1 if index is None else index, happened=happened, reason=reason, via="terminal")
        after = approvals.act(IncidentId(incident), view.proposal.id, act, by=by)
        say(settlement_counts(after))


@contextmanager
def _deciding(incident: str, config: ConfigOption) -> Iterator[tuple[Approvals, ProposalView, UserId]]:
    """The newest proposal and whoever decides, for what is only written down: whoever works on the record goes on."""
    with _beside(config) as (settings, built, _place):
        yield built.services.approvals, _newest(built, incident), _who(settings)


@contextmanager
def _beside(config: ConfigOption) -> Iterator[tuple[Settings, Built, Place]]:
    """Everything on the bot's own record, also while a bot runs: nothing is taken from it."""
    settings = Settings.load(config)
    with existing_record(settings) as store:
        place = Place(store.presence)
        with build(settings, _directory(settings), record=store, is_leader=place.is_leader) as built:
            yield settings, built, place


@contextmanager
def _alone(config: ConfigOption) -> Iterator[tuple[Settings, Built]]:
    """As one of those that work on the record: evidence is collected here."""
    settings = Settings.load(config)
    with existing_record(settings) as store, build(settings, _directory(settings), record=store) as built:
        yield settings, built


def _directory(settings: Settings) -> Directory:
    """Who is in a user group is asked of Slack where its token is given."""
    token = SlackSecrets().slack_bot_token
    if token is None:
        return NobodyThere()
    client = WebClient(token=token.get_secret_value(), base_url=settings.slack.base_url)
    return SlackDirectory(client, settings.slack.team_id)


def _who(settings: Settings) -> UserId:
    """The Slack user id of whoever is logged in. Raises Refused for a login that is bound to none."""
    login = pwd.getpwuid(os.getuid()).pw_name
    if login not in settings.terminal.people:
        raise Refused(
            f"The login {login} may not decide here.",
            "Expected it in `terminal.people` of the configuration, with a Slack user id; found "
            f"{', '.join(settings.terminal.people) or 'nobody'}.",
            "Decide in Slack, or add the login with your Slack user id to `terminal.people`.",
        )
    return settings.terminal.people[login]


def _newest(built: Built, incident: str) -> ProposalView:
    view = built.services.store.get(IncidentId(incident)).current_proposal
    if view is None:
        raise Refused(
            f"There is no proposal in {incident}.",
            "Expected one that was proposed in Slack or here; found none.",
            f"Propose one: waterline proposal propose {incident} ACTION.",
        )
    return view


def _show(built: Built, incident: str) -> None:
    services = built.services
    show_proposal(_newest(built, incident), services.store.get(IncidentId(incident)).runs, services.tasks)
