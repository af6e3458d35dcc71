"""`waterline proposal`: propose and decide in a terminal, by the same rule as in Slack."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from slack_sdk import WebClient

from bot.adapters.journal_sql.opening import record_of
from bot.bootstrap import Built, build
from bot.cli.nobody import NobodyThere
from bot.cli.options import DEFAULT_CONFIG, ConfigOption
from bot.cli.proposal_carried import Place, carried_out, ended_with, must_be_meant
from bot.cli.proposal_shown import DIGEST_SHOWN, say, show_proposal
from bot.domain.approval_answers import approval_counts, settlement_counts
from bot.domain.errors import Refused
from bot.domain.execution import ProposalView
from bot.domain.ids import IncidentId, ProposalId, UserId
from bot.domain.settling import unknown_effect
from bot.domain.typed_proposal import typed_proposal
from bot.ports import Directory
from bot.settings import Settings, SlackSecrets
from bot.slack.directory import SlackDirectory

app = typer.Typer(
    help="Show and decide proposals, also while Slack is down.",
    no_args_is_help=True,
    add_completion=False,
)

IncidentArgument = Annotated[str, typer.Argument(help="The incident's id, for example wl-1.")]
DigestOption = Annotated[
    str, typer.Option(help=f"The digest that `show` tells, at least {DIGEST_SHOWN} characters: what you approve.")
]
ReasonOption = Annotated[str, typer.Option(help="A sentence for the record.")]


@app.command()
def show(incident: IncidentArgument, config: ConfigOption = DEFAULT_CONFIG) -> None:
    """The newest proposal of an incident: what it does, its digest, and who is still to approve."""
    with _built(config) as (_settings, built):
        _show(built, incident)


@app.command()
def propose(
    incident: IncidentArgument,
    action: Annotated[str, typer.Argument(help="The action, for example rewind_table_and_job.")],
    bounds: Annotated[
        list[str] | None,
        typer.Argument(
            help="Of replay_rows: positions=1200..1500 and the like, as docs/replay.md tells; of a rewind: "
            "drop_others=yes."
        ),
    ] = None,
    keep: Annotated[str, typer.Option(help="Of two runs that write: the first digits of the one that stays.")] = "",
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Propose an action for what was diagnosed."""
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
    """Say yes to the newest proposal, as it was shown."""
    with _built(config) as (settings, built):
        by, view = _who(settings), _newest(built, incident)
        after = built.services.approvals.approve(
            IncidentId(incident), _id(view), digest=_meant(view, digest), by=by, via="terminal"
        )
        say(approval_counts(after))


@app.command("break-glass")
def break_glass(
    incident: IncidentArgument, digest: DigestOption, reason: ReasonOption, config: ConfigOption = DEFAULT_CONFIG
) -> None:
    """Approve the newest proposal alone, in an emergency; the owners are notified at once."""
    with _built(config) as (settings, built):
        by, view = _who(settings), _newest(built, incident)
        after = built.services.approvals.break_glass(
            IncidentId(incident), _id(view), reason, digest=_meant(view, digest), by=by, via="terminal"
        )
        say(approval_counts(after))


@app.command()
def reject(incident: IncidentArgument, reason: ReasonOption, config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Say no to the newest proposal, or withdraw your own."""
    with _built(config) as (settings, built):
        view = _newest(built, incident)
        built.services.approvals.reject(IncidentId(incident), _id(view), reason, by=_who(settings), via="terminal")
        say(f"Rejected: {view.proposal.title}.")


@app.command()
def veto(incident: IncidentArgument, reason: ReasonOption, config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Stop the newest proposal although others approve it."""
    with _built(config) as (settings, built):
        view = _newest(built, incident)
        built.services.approvals.veto(IncidentId(incident), _id(view), reason, by=_who(settings), via="terminal")
        say(f"Vetoed: {view.proposal.title}.")


@app.command()
def execute(incident: IncidentArgument, digest: DigestOption, config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Execute the newest approved proposal: by the running bot, or from here if no bot runs.

    Exit code 0: done and proven; 1: refused or not proven; 2: the outcome of a step is unknown.
    """
    with _beside(config) as (settings, built, place):
        by, view = _who(settings), _newest(built, incident)
        must_be_meant(view, digest, incident)
        ended_with(carried_out(built, place, IncidentId(incident), view, by))


@app.command()
def settle(
    incident: IncidentArgument,
    happened: Annotated[bool, typer.Option("--happened/--did-not-happen", help="What became of the unknown step.")],
    reason: ReasonOption,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Say whether the step happened of which nobody else knows: the execution goes on, or ends."""
    with _built(config) as (settings, built):
        by, view = _who(settings), _newest(built, incident)
        index = unknown_effect(view)
        after = built.services.approvals.settle_outcome(
            IncidentId(incident),
            _id(view),
            -1 if index is None else index,
            reason,
            happened=happened,
            by=by,
            via="terminal",
        )
        say(settlement_counts(after))


@contextmanager
def _built(config: ConfigOption) -> Iterator[tuple[Settings, Built]]:
    """As `_beside`, for what is only written down: whoever works on the record goes on."""
    with _beside(config) as (settings, built, _place):
        yield settings, built


@contextmanager
def _beside(config: ConfigOption) -> Iterator[tuple[Settings, Built, Place]]:
    """Everything on the bot's own record, also while a bot runs: nothing is taken from it."""
    settings = Settings.load(config)
    with record_of(settings, keep=True) as store:
        place = Place(store.presence)
        with build(settings, _directory(settings), record=store, alone_with=place.alone_with) as built:
            yield settings, built, place


@contextmanager
def _alone(config: ConfigOption) -> Iterator[tuple[Settings, Built]]:
    """As one of those that work on the record: evidence is collected here."""
    settings = Settings.load(config)
    with build(settings, _directory(settings)) as built:
        yield settings, built


def _directory(settings: Settings) -> Directory:
    """Who is in a user group is asked of Slack where its token is given."""
    token = SlackSecrets().slack_bot_token
    if token is None:
        return NobodyThere()
    return SlackDirectory(WebClient(token=token.get_secret_value(), base_url=settings.slack.base_url))


def _who(settings: Settings) -> UserId:
    """The Slack user id of whoever is logged in. Raises Refused for a login that is bound to none."""
    login = pwd.getpwuid(os.getuid()).pw_name
    if login not in settings.terminal.people:
        raise Refused(
            f"The login {login} decides nothing here.",
            "Expected it in `terminal.people` of the configuration, with a Slack user id; found "
            f"{', '.join(settings.terminal.people) or 'nobody'}.",
            "Decide in Slack, or have the login bound to your Slack user id.",
        )
    return settings.terminal.people[login]


def _newest(built: Built, incident: str) -> ProposalView:
    view = built.services.store.get(IncidentId(incident)).current_proposal
    if view is None:
        raise Refused(
            f"Nothing is proposed in {incident}.", "", f"Propose: waterline proposal propose {incident} ACTION."
        )
    return view


def _show(built: Built, incident: str) -> None:
    services = built.services
    show_proposal(_newest(built, incident), services.store.get(IncidentId(incident)).runs, services.tasks)


def _id(view: ProposalView) -> ProposalId:
    return view.proposal.id


def _meant(view: ProposalView, digest: str) -> str:
    """The whole digest, if what was typed is its beginning; else what was typed, which the rule refuses."""
    whole = view.proposal.digest
    return whole if len(digest) >= DIGEST_SHOWN and whole.startswith(digest) else digest
