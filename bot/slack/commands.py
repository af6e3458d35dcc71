"""`/waterline` and its subcommands; the help text is made from this table.

Closing an incident, by command or by button: the same act and the same answer.

The last commits of a table, as `/waterline commits` answers.

`/waterline notify`: what consumers hear.

`/waterline status`: open incidents and the trust of every table, each with whose table it is; all about one table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from typing import get_args

from bot.incident.asked import typed_proposal
from bot.incident.doubt import beside_trusted, doubted_since, up_to
from bot.incident.entries import IncidentOpened
from bot.incident.incident import Incident, shown_in
from bot.incident.notice import PLANNED, WorkState
from bot.incident.recovery_deadline import deadline_in_short
from bot.incident.runbook import ASKED_FOR
from bot.incident.setup import TableSetup, TeamMember
from bot.incident.trust import Basis, Trust
from bot.incident.waterline import undo_left
from bot.observation.errors import Refused, WaterlineError
from bot.observation.ids import IncidentId, TableName, UserId, short, short_job
from bot.observation.sentences import clock_time, column_times, mentioned, visible
from bot.observation.table import TableState
from bot.service.runbook_steps import current_step
from bot.service.services import Services
from bot.service.watching.watch import Watch
from bot.slack.blocks.savepoints import catalogue_text
from bot.slack.forms import PREVIEW_TITLE, open_form_id, problem_form
from bot.slack.ids import COMMAND
from bot.slack.opening_forms import OpeningForms
from bot.slack.requests import AGAIN, Command
from bot.slack.views import Views, preview_of


def status_text(services: Services, channel: str) -> str:
    """Open incidents, and the trust of every table; of private incidents the one of this channel. A line each."""
    setups, today = services.observer.tables, services.clock.now().date()
    shown = [each for each in services.store.all() if shown_in(each, channel)]
    incidents = [each for each in shown if each.is_open]
    lines = [_incident(each, is_watched=each.opened.table in setups) for each in incidents]
    hidden = {each.opened.table for each in services.store.all() if each.is_open and not shown_in(each, channel)}
    if not lines and not hidden:
        lines = [f"No incident is open. Open one with {COMMAND} open."]
    for trust in services.trust.all():
        lines.append(trust_line(trust, services.clock.now()) + owned_by(setups.get(trust.table), today))
    unwatched = sorted(hidden - set(setups))
    lines += [f"{table} is under review. Its incident is private." for table in unwatched]
    return "\n".join(lines)


def trust_line(trust: Trust, now: datetime) -> str:
    """One table: its state, since when, why, and the snapshot to trust. For what one person alone is shown."""
    state = trust.state.value.replace("-", " ")
    since = f" since {clock_time(trust.since, now)}" if trust.since is not None else ""
    doubts = [doubt for doubt in trust.doubts if doubt not in trust.why]
    return visible(" ".join([f"{trust.table}: {state}{since}. {trust.why}", *_to_trust(trust, now), *doubts]))


def owned_by(setup: TableSetup | None, on: date) -> str:
    """A sentence after a space, people whom Slack knows as mentions; empty where the contract names no team.

    For what one person alone is shown: there a mention notifies nobody.
    """
    words = "" if setup is None or setup.team is None else setup.team.in_words(on, _named)
    return f" Owned by {visible(words)}." if words else ""


def _named(member: TeamMember) -> str:
    return f"<@{member.slack}>" if member.slack else member.name


def _to_trust(trust: Trust, now: datetime) -> list[str]:
    """Nothing where nobody ever had a doubt: then it is the head, which goes on. What could not be looked at is not
    said to be missing."""
    if trust.basis is Basis.NEVER_QUESTIONED:
        return []
    if trust.snapshot is None:
        none = "No trusted snapshot: none is known to be good."
        return ["Could not determine the trusted snapshot." if trust.doubts else none]
    is_proven = trust.basis is Basis.VERIFIED
    name, basis = ("Trusted", "verified") if is_proven else ("No known problem", "not verified")
    return [f"{name}: snapshot {trust.snapshot}{_listed(trust, now)}; {basis}."]


def _listed(trust: Trust, now: datetime) -> str:
    if trust.committed_at is not None:
        return f", up to {clock_time(trust.committed_at, now)}"
    return " (unknown whether it still exists)" if trust.head is None else ", no longer listed"


def _incident(incident: Incident, *, is_watched: bool) -> str:
    """What to trust stands in the line of its table, where there is one that speaks of this incident."""
    opened: IncidentOpened = incident.opened
    step = current_step(incident)
    who = f"<@{incident.responder}>" if incident.responder else "nobody"
    is_told = is_watched and doubted_since(incident) is not None
    trusted = "" if is_told else f" {up_to(incident)} {short(incident.trusted)} ({beside_trusted(incident)})."
    return (
        f"{incident.id} {opened.table} ({incident.severity}), opened {clock_time(incident.opened_at)} "
        f"in <#{opened.channel}>: {step.title if step else 'runbook finished'}.{trusted} Responder: {who}."
    )


_LATE = 3
"""Times the pace of the watch after which a look is missed."""


def table_status(services: Services, table: TableName, channel: str) -> str:
    """One table: its trust and owner, its open incident, what the watch sees, and the savepoints that are kept."""
    now = services.clock.now()
    setup = services.observer.setup(table)
    lines = [trust_line(services.trust.trust(table), now) + owned_by(setup, now.date())]
    incident = services.store.open_on(table)
    if incident is not None and shown_in(incident, channel):
        lines.append(_incident(incident, is_watched=True))
    lines += watched(services, table, now)
    if setup.job is not None:
        lines.append(catalogue_text(table, services.savepoints.catalogue(table, channel)))
    return "\n".join(lines)


def watched(services: Services, table: TableName, now: datetime) -> list[str]:
    """When it was looked at, until when it can be recovered, what lasts, and whether it is muted."""
    finding_store = services.finding_store
    if finding_store is None or table not in finding_store.tables:
        return ["Not watched: no channel is set for its findings."]
    memory = finding_store.memory(table)
    deadline = services.watch.deadline(table) if services.watch is not None else None
    lines = [f"Watch: {_looked_at(services.watch, table, now)}."]
    lines += [f"• {each}" for each in (deadline_in_short(deadline, now) if deadline is not None else ())]
    if (mute := memory.mute_at(now)) is not None:
        lines.append(f"• It is muted until {mute.until:%Y-%m-%d %H:%M} UTC by <@{mute.by}>.")
    lines += [
        f"• since {each.at:%Y-%m-%d %H:%M} UTC: {each.finding.headline}"
        for each in memory.lasting
        if (found := finding_store.status(each.id)) is None or found.incident is None
    ]
    return lines


def _looked_at(watch: Watch | None, table: TableName, now: datetime) -> str:
    if watch is None or not watch.follows(table):
        return "not watched (`watch: false`); alerts about it are posted"
    at = watch.looked_at(table)
    if at is None:
        return "not looked at by this process yet"
    hidden = ", ".join(sorted(watch.unseen(table)))
    could_not = f", without {hidden}, which could not be seen" if hidden else ""
    late = (
        ", and no look has come to its end since: the bot's log has more"
        if now - at > _LATE * watch.terms.poll_interval
        else ""
    )
    return f"looked at {clock_time(at, now, seconds=True)}{could_not}{late}"


def notify(services: Services, views: Views, command: Command) -> str | None:
    """Fill the preview of a notice, of the channel's open incident or the one that was closed last there; `again`
    previews nothing, and sends what did not arrive."""
    kind, _, words = command.rest.partition(" ")
    if kind == AGAIN:
        return notify_again(services, command, words.strip())
    if kind == PLANNED and words.strip().split(" ")[0] in get_args(WorkState):
        state, _, words = words.strip().partition(" ")
        kind = f"{kind} {state}"
    try:
        incident = services.store.newest_in(command.channel)
        view = preview_of(services, incident.id, kind or "update", "", command.channel, command.user, words.strip())
    except WaterlineError as error:
        view = problem_form(PREVIEW_TITLE, str(error))
    views.fill(open_form_id(command.trigger), view)
    return None


def notify_again(services: Services, command: Command, consumer: str) -> str:
    """Send what did not arrive once more, to one consumer or to all whom nothing has reached."""
    incident = services.store.newest_in(command.channel)
    found, refused = services.deliveries.retry_all(incident.id, consumer, by=command.user)
    sent = [f"“{view.notice.title or view.notice.kind}” for {view.notice.consumer}" for view in found]
    lines = [f"Sending again, with the same text: {', '.join(sent)}. The card shows the delivery."] if sent else []
    return "\n".join([*lines, *(f"{name}: {error}" for name, error in refused.items())])


_SHOWN = 12


def last_commits(table: TableState) -> str:
    """One commit a line, the newest first; times in UTC, with their day where not all are of the day of the look."""
    said = column_times((table.read_at, *(snapshot.committed_at for snapshot in table.chain[:_SHOWN])))
    lines = [f"The last commits of {table.name}, newest first (UTC):"]
    for snapshot in table.chain[:_SHOWN]:
        who = (
            f"run {short_job(snapshot.job_id)} checkpoint {snapshot.checkpoint_id}"
            if snapshot.job_id
            else snapshot.engine
        )
        lines.append(
            f"{said(snapshot.committed_at)} {short(snapshot.snapshot_id)} {snapshot.operation}, "
            f"{snapshot.counted('added-records')} rows, {visible(who)}"
        )
    if table.rolled_back:
        lines.append(f"{len(table.rolled_back)} rolled back commits are not in this list.")
    return "\n".join(lines)


def closed(services: Services, incident_id: IncidentId, reason: str, by: UserId) -> str:
    """Close it; what whoever did is told, with what stays behind."""
    incident = services.closing.close(incident_id, reason, by=by)
    said = [f"{incident.id} is closed."]
    if incident.waterline is not None and incident.waterline.status == "under-review":
        said.append("The table stays under review: it is not verified.")
    left = undo_left(incident)
    if left is not None:
        said.append(f"Waterline can no longer undo “{left.proposal.title}”, because undo ends with the incident.")
    if incident.review is None:
        said.append(
            "Could not open the contract review: Waterline could not read the table or the job. "
            "Open it later with “Open the review” on the card."
        )
    return " ".join(said)


@dataclass(frozen=True)
class Verb:
    usage: str
    help: str
    do: Callable[["Commands", Command], str | None]


@dataclass(eq=False)
class Commands:
    """Answers commands; a returned sentence is shown to the person only."""

    _services: Services
    _opening: OpeningForms
    _views: Views

    def handle(self, command: Command) -> str | None:
        """Do the subcommand; an unknown one gets the one that is meant, or the help."""
        verb = VERBS.get(command.verb)
        if verb is None:
            return _mistyped(command.verb)
        return verb.do(self, command)

    def _table(self, named: str) -> TableName:
        tables = self._services.opening.tables
        if named:
            return TableName(named)
        if len(tables) == 1:
            return tables[0]
        raise Refused("Which table?", f"Configured are: {', '.join(tables)}.", "Name one of these.")

    def _help(self, command: Command) -> str:
        asked = VERBS.get(command.rest.lower())
        return _line(asked) if asked is not None else help_text()

    def _open(self, command: Command) -> None:
        self._opening.fill(command.trigger, command.channel, command.rest)

    def _status(self, command: Command) -> str:
        if command.rest:
            return table_status(self._services, TableName(command.rest), command.channel)
        return status_text(self._services, command.channel)

    def _commits(self, command: Command) -> str:
        return last_commits(self._services.observer.table(self._table(command.rest)))

    def _run(self, command: Command) -> str:
        incident = self._services.store.in_channel(command.channel)
        task = command.rest
        if task not in self._services.tasks:
            near = get_close_matches(task, self._services.tasks, n=1)
            raise Refused(
                f"There is no evidence task “{task}”.",
                f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(self._services.tasks)}.",
                "Type its name.",
            )
        self._services.evidence.request(incident.id, task, by=command.user)
        return f"Running {task}. The result appears in the thread of {incident.id}."

    def _diagnose(self, command: Command) -> str:
        incident = self._services.store.in_channel(command.channel)
        self._services.diagnoses.request(incident.id, by=command.user)
        self._services.reconciler.walk_on(incident.id)
        return f"Checking the table and the job. The result appears in the thread of {incident.id}."

    def _note(self, command: Command) -> str:
        incident = self._services.store.in_channel(command.channel)
        self._services.runbook_steps.note(incident.id, command.rest, by=command.user)
        return f"Noted in {incident.id}."

    def _assign(self, command: Command) -> str:
        incident = self._services.store.in_channel(command.channel)
        person, _, note = command.rest.partition(" ")
        named = mentioned(person)
        if person and named is None:
            raise Refused(f"“{person}” is not a person.", "Expected a mention like @ana.", "Type @ and choose one.")
        user = named or command.user
        self._services.runbook_steps.assign(incident.id, user, note, by=command.user)
        return f"<@{user}> is the responder of {incident.id}."

    def _propose(self, command: Command) -> str:
        incident = self._services.store.in_channel(command.channel)
        typed = typed_proposal(command.rest)
        self._services.proposals.propose(
            incident.id,
            typed.action or ASKED_FOR,
            step=None,
            by=command.user,
            reason=typed.reason,
            keeps=typed.keeps,
            bounds=typed.bounds,
            drops_others=typed.drops_others,
        )
        return "The proposal is in the channel. Somebody else must approve it."

    def _undo(self, command: Command) -> str:
        incident = self._services.store.in_channel(command.channel)
        self._services.proposals.undo(incident.id, None, command.rest, by=command.user)
        return "The undo is proposed. Somebody else must approve it before anything changes."

    def _freeze(self, command: Command) -> str:
        incident = self._services.store.in_channel(command.channel)
        if command.rest.strip() not in ("", incident.opened.table):
            raise Refused(
                "Nothing was frozen.", f"Expected no words; found “{command.rest.strip()}”.", f"Type {COMMAND} freeze."
            )
        return self._services.maintenance.freeze(incident.id, by=command.user)

    def _unfreeze(self, command: Command) -> str:
        incident = self._services.store.in_channel(command.channel)
        return self._services.maintenance.unfreeze(incident.id, by=command.user)

    def _close(self, command: Command) -> str:
        incident = self._services.store.in_channel(command.channel)
        return closed(self._services, incident.id, command.rest, command.user)


VERBS: dict[str, Verb] = {
    "open": Verb("open [TABLE]", "open an incident on a table", Commands._open),
    "status": Verb(
        "status [TABLE]",
        "open incidents, and which snapshot is trusted; of one table also its findings and savepoints",
        Commands._status,
    ),
    "commits": Verb("commits [TABLE]", "the last commits of a table", Commands._commits),
    "run": Verb("run TASK", "run one evidence task; a wrong name lists them", Commands._run),
    "diagnose": Verb("diagnose", "name the failure from the evidence so far", Commands._diagnose),
    "propose": Verb(
        "propose [ACTION] [keep=RUN] [drop_others=yes] [BOUNDS]",
        "propose the suggested fix, or an action by name; another person approves it by its buttons",
        Commands._propose,
    ),
    "undo": Verb("undo [REASON]", "propose to undo the last repair", Commands._undo),
    "freeze": Verb(
        "freeze",
        "pause snapshot expiry and orphan cleanup until the incident ends; after eight hours Waterline asks to go on",
        Commands._freeze,
    ),
    "unfreeze": Verb("unfreeze", "resume them with the old settings", Commands._unfreeze),
    "notify": Verb(
        "notify KIND [WORDS]",
        "preview and send a notice: `warning`, `update`, `recovered`, …; `notify again CONSUMER` resends a failed one",
        lambda c, m: notify(c._services, c._views, m),
    ),
    "note": Verb("note TEXT", "add a note to the record", Commands._note),
    "assign": Verb("assign [@PERSON] [NOTE]", "make somebody (or yourself) the responder", Commands._assign),
    "close": Verb("close REASON", "end the incident", Commands._close),
    "help": Verb("help [WORD]", "this list, or what one subcommand does", Commands._help),
}


def _mistyped(word: str) -> str:
    for near in get_close_matches(word, VERBS, n=1):
        meant = f"Did you mean this?\n{_line(VERBS[near])}\n`{COMMAND} help` lists all of them."
        return f"There is no subcommand “{word}”, and nothing was done. {meant}"
    return f"There is no subcommand “{word}”.\n{help_text()}"


def _line(verb: Verb) -> str:
    return f"• `{COMMAND} {verb.usage}` {verb.help}"


_GROUPS = {
    "Start": ("open", "status", "commits"),
    "Find out what happened": ("diagnose", "run"),
    "Repair": ("propose", "undo", "freeze"),
    "Notify consumers, and close": ("notify", "close"),
}
"""What one wants to do -> the subcommands for it; all others are needed rarely."""


def help_text() -> str:
    """A line for each subcommand that is often needed, by what one wants to do; one line for all others."""
    lines = ["Waterline shows which state of a table its consumers can trust."]
    for title, verbs in _GROUPS.items():
        lines += [f"{title}:", *(_line(VERBS[verb]) for verb in verbs)]
    often = {verb for verbs in _GROUPS.values() for verb in verbs}
    rare = ", ".join(f"`{verb}`" for verb in VERBS if verb not in often)
    return "\n".join([*lines, f"Rarely needed: {rare}. `{COMMAND} help WORD` explains one of them."])
