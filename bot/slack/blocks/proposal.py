"""A proposal and, once decided, the stamp of the decision; then how far its execution has come.

How a proposal is decided, in its message; the reminder; and the message to owners after an emergency approval.

What a proposal removes from main, and who has read it: all of it, for the approval covers it.
"""

from collections.abc import Iterable, Mapping, Sequence

from slack_sdk.models.blocks import Block, ButtonElement, SectionBlock

from bot.actions._effects import describe
from bot.incident.approval import ApprovalPolicy, ids_mentioned, mentions, missing_in_words, whom_to_ask
from bot.incident.decisions import HOW_TO_SETTLE, last_approval_at, may_be_said_to_have_happened, unknown_effect
from bot.incident.execution import UNDECIDED, ProposalState, ProposalView
from bot.incident.incident import Incident, cited
from bot.incident.journal import WATERLINE
from bot.incident.proposal import Preview, requirement_sentence, returns
from bot.observation.evidence import Task
from bot.observation.ids import ProposalId, SnapshotId, short
from bot.observation.readers import ReadRun
from bot.observation.sentences import clock_time, counted, inert
from bot.slack.blocks.parts import actions, button, clock, confirm, context, folded, header, section, sections
from bot.slack.ids import Click
from bot.slack.limits import CONFIRM_TEXT, CONTEXT_TEXT, HEADER_TEXT, is_cut, pages
from bot.slack.text import addressed, as_sentence, code, mrkdwn, person, short_paths

_ONE_A_LINE = 10
"""Of so many runs each has a line; more are named by consumer and snapshot, so that a message holds hundreds."""


def removed_from_main(preview: Preview) -> str:
    """Commits, files and rows, other writers, and every consumer run; mrkdwn, escaped."""
    if not (preview.commits or preview.files or preview.rows or preview.affected_runs):
        return "*Removes from main:* nothing."
    counts = ((preview.commits, "commit"), (preview.files, "file"), (preview.rows, "row"))
    what = ", ".join(counted(number, unit) for number, unit in counts if number) or "Rows that consumers have read"
    taken = f"*Removes from main:* {what}. They stay readable under a tag."
    if preview.replayed_from is not None:
        taken += f" The job then reads its source again from checkpoint {preview.replayed_from} on."
    if preview.others:
        taken += "\n:warning: *Rows of other writers, which the job does not read again:* " + ", ".join(
            f"{counted(each.rows, 'row')} of {mrkdwn(each.writer)}{returns(each)}" for each in preview.others
        )
    if not preview.readers_known:
        return taken + "\n:warning: Readers unknown: the lineage source did not answer."
    if not preview.affected_runs:
        return taken + "\nLineage shows no consumer run that read them."
    return f"{taken}\n*Consumer runs that read them:* {_runs(preview.affected_runs)}"


def _runs(runs: Sequence[ReadRun]) -> str:
    """Every one, for the approval covers them all."""
    if len(runs) == 1:
        return _run(runs[0])
    if len(runs) <= _ONE_A_LINE:
        return "\n".join(["", *(f"• {_run(run)}" for run in runs)])
    together: dict[tuple[str, SnapshotId | None], list[str]] = {}
    for run in runs:
        told = f"{code(run.run_id[:8])} {clock(run.at)}"
        together.setdefault((run.consumer, run.snapshot_id), []).append(told)
    lines = (
        f"• {mrkdwn(name)} read {short(snapshot)}: {', '.join(told)}" for (name, snapshot), told in together.items()
    )
    return "\n".join(["", *lines])


def _run(run: ReadRun) -> str:
    return f"{mrkdwn(run.consumer)} run {code(run.run_id[:8])} read {short(run.snapshot_id)} at {clock(run.at)}"


def waits_for(view: ProposalView) -> str:
    """`1 approval, until 17:22 UTC`."""
    until = clock_time(last_approval_at(view), view.proposal.proposed_at)
    return f"{missing_in_words(view.proposal.policy, view.approvals)}, until {until}"


def _needs(view: ProposalView) -> str:
    """Who is missing, and until when."""
    policy, proposer = view.proposal.policy, view.proposal.proposed_by
    return (
        f"Needs {missing_in_words(policy, view.approvals)}, not from the proposer. "
        f"{_named(whom_to_ask(policy, proposer, view.approvals), policy)} "
        f"Approve it by {clock_time(last_approval_at(view), view.proposal.proposed_at)}."
    )


def _who_may(view: ProposalView) -> list[str]:
    """Small print while it can still be decided: who is gone, who may stop it, and the way out."""
    policy, proposer = view.proposal.policy, view.proposal.proposed_by
    lines = []
    if view.state is ProposalState.PROPOSED and view.gone:
        lines.append(f":warning: {_named(view.gone, policy)}")
    if policy.veto is not None:
        waits = policy.hold and view.state is ProposalState.PROPOSED
        hold = f" After approval, the veto window is {minutes(policy.hold.total_seconds())}." if waits else ""
        lines.append(f"{_named(mentions((policy.veto,)), policy)} may veto it until it runs.{hold}")
    if policy.break_glass is not None and view.state in {ProposalState.PROPOSED, ProposalState.HELD}:
        who = _named(mentions((policy.break_glass,), (proposer,)), policy)
        owners = _owners(policy.break_glass.owners)
        lines.append(f"In an emergency {who} can approve alone, with a reason. The channel then mentions {owners}.")
    return lines


def stamps(view: ProposalView) -> list[Block]:
    """Who decided what, and when: one line each, in the order in which it happened."""
    lines = []
    for given in view.approvals:
        team = f" (team {mrkdwn(', '.join(given.teams))})" if given.teams else ""
        if view.glass is not None and view.glass.approval.by == given.by:
            continue
        lines.append(f":heavy_check_mark: Approved by {person(given.by)}{team}{given.where} at {clock(given.at)}")
    if view.glass is not None:
        given = view.glass.approval
        lines.append(
            f":rotating_light: *Emergency approval* by {person(given.by)}{given.where} at {clock(given.at)}: "
            f"{mrkdwn(as_sentence(view.glass.reason))}"
        )
    if view.ended is not None and view.ended_at is not None:
        who = "" if view.ended_by in (None, WATERLINE) else f" by {person(view.ended_by)}{view.ended.where}"
        lines.append(f"{view.ended.how.capitalize()}{who} at {clock(view.ended_at)}: {mrkdwn(view.ended.reason)}")
    if view.execution_started_at is not None:
        lines.append(f":arrow_forward: Started by {person(view.executed_by)} at {clock(view.execution_started_at)}")
    for said in view.settled:
        what = "happened" if said.happened else "did not happen"
        lines.append(
            f":speech_balloon: Step {said.index + 1} {what}, settled by {person(said.by)}{said.where} "
            f"at {clock(said.at)}: {mrkdwn(as_sentence(said.reason))}"
        )
    return [section("\n".join(lines))] if lines else []


def reminder_message(incident: Incident, view: ProposalView) -> tuple[str, list[Block]]:
    """Asks those whose yes or no is missing; once it is decided, it says only that."""
    policy, title = view.proposal.policy, view.proposal.title
    if view.state is not ProposalState.PROPOSED:
        text = f"{incident.id}: “{title}” is {view.state.value} now"
        return text, [context(f"“{mrkdwn(title)}” is {view.state.value} now. Nobody needs to decide.")]
    left_out = (view.proposal.proposed_by, *(given.by for given in view.approvals))
    whom = mentions((policy.remind,)) or mentions(policy.approvers, left_out)
    asked = f":bell: {_named(whom, policy)}: “{mrkdwn(title)}” still waits"
    needs = waits_for(view)
    told = f"{incident.id}: “{title}” still waits for {needs}"
    return told, [section(f"{asked} for {needs}. The buttons are on the proposal, above this thread.")]


def emergency_message(incident: Incident, view: ProposalView) -> tuple[str, list[Block]]:
    """For the owners: who approved what alone, why, and how it can still be stopped."""
    assert view.glass is not None
    given, policy = view.glass.approval, view.proposal.policy
    others = len({each.by for each in view.approvals}) - 1
    had = f"{others or 'no'} other{'s' if others != 1 else ''} had approved"
    text = f"{incident.id}: emergency approval on {incident.opened.table}"
    stop = ""
    if not view.ended and view.execution_started_at is None and policy.veto is not None:
        stop = f" {_named(mentions((policy.veto,)), policy)} can veto it until it starts."
    return text, [
        section(
            f":rotating_light: *Emergency approval.* {_owners(view.glass.owners)}: "
            f"{person(given.by)} approved “{mrkdwn(view.proposal.title)}” alone at {clock(given.at)}. "
            f"The policy asks for {policy.required}{_teams(policy)}; {had}.{stop}\n"
            f"*Reason:* {mrkdwn(as_sentence(view.glass.reason))}"
        )
    ]


def minutes(seconds: float) -> str:
    """`5 minutes`, `30 seconds`."""
    count, unit = (seconds / 60, "minute") if seconds >= 60 else (seconds, "second")
    return f"{count:g} {unit}{'' if count == 1 else 's'}"


def _teams(policy: ApprovalPolicy) -> str:
    people = f" approval{'s' if policy.required > 1 else ''}"
    return f"{people} from {policy.teams_asked} teams" if policy.teams_asked else people


def _owners(ids: Iterable[str]) -> str:
    """People and user groups, mentioned."""
    return ", ".join(addressed(ids_mentioned([each]), {each}) if each.startswith("S") else person(each) for each in ids)


def _named(text: str, policy: ApprovalPolicy) -> str:
    return addressed(text, policy.named)


_STATE = {
    ProposalState.PROPOSED: ":bell: Waiting for approval",
    ProposalState.HELD: ":hourglass_flowing_sand: Approved, veto window",
    ProposalState.APPROVED: ":white_check_mark: Approved, ready to run",
    ProposalState.EXECUTING: ":hourglass_flowing_sand: Running",
    ProposalState.APPLIED: ":white_check_mark: Done",
    ProposalState.REFUSED: ":no_entry: Refused at execution",
    ProposalState.UNKNOWN: ":grey_question: Outcome unknown, checking",
    ProposalState.REJECTED: ":x: Rejected",
    ProposalState.VETOED: ":no_entry_sign: Vetoed",
    ProposalState.EXPIRED: ":hourglass: Expired",
    ProposalState.SUPERSEDED: ":leftwards_arrow_with_hook: Superseded",
}


def proposal_message(incident: Incident, view: ProposalView, tasks: Mapping[str, Task]) -> tuple[str, list[Block]]:
    """(notification text, blocks). Buttons are there only while they can do something, and those of a yes only where
    all that is approved is in the message: the steps, conditions and evidence are folded below the buttons. Once it
    has begun or ended, it shrinks to title, state and who decided. The thread and the record have the rest."""
    blocks, small = _content(incident, view), _small_print(incident, view, tasks)
    is_whole = not is_cut([*blocks, *small])
    if _takes_yes(view) and not is_whole:
        blocks.insert(1, section(_too_long(incident)))
    if buttons := _buttons(incident, view, is_whole=is_whole):
        blocks.append(actions(buttons))
    if incident.is_open and view.state in UNDECIDED:
        blocks.append(actions([button("Tell consumers…", Click.PREVIEW_NOTICE, incident.id, "update", "")]))
    return f"{incident.id}: {view.proposal.title} ({view.state.value})", [*blocks, *small]


def _takes_yes(view: ProposalView) -> bool:
    """Whether somebody can still say yes, also alone in an emergency: then all that a yes covers is shown."""
    is_held = view.state is ProposalState.HELD and view.proposal.policy.break_glass is not None
    return view.state is ProposalState.PROPOSED or is_held


def is_shown_whole(incident: Incident, proposal: str, tasks: Mapping[str, Task]) -> bool:
    """Whether its message shows all that a yes covers, as it stands now."""
    view = incident.proposals.get(ProposalId(proposal))
    return view is not None and not is_cut([*_content(incident, view), *_small_print(incident, view, tasks)])


def _content(incident: Incident, view: ProposalView) -> list[Block]:
    """What, why, its effect and how to undo it, however long; without buttons."""
    proposal, title = view.proposal, f"{incident.id}: {view.proposal.title}"
    takes_yes = _takes_yes(view)
    because = f"\n{mrkdwn(proposal.because)}" if takes_yes else ""
    needs = f"\n{_needs(view)}" if view.state is ProposalState.PROPOSED else ""
    blocks: list[Block] = [
        header(title),
        *([] if _fits(title, HEADER_TEXT) else sections(f"*{mrkdwn(title)}*")),
        *sections(f"*{_state(view)}* · proposed by <@{proposal.proposed_by}>{needs}{because}"),
    ]
    if takes_yes or view.state is ProposalState.HELD:  # whoever may veto reads what is lost, too
        blocks += sections(f"{removed_from_main(proposal.preview)}\n{_undo(view)}")
    if proposal.preview.recorded:
        blocks += sections(_recorded(view))
    if view.state in UNDECIDED:
        blocks += _yes_at_length(view)
    if view.state is ProposalState.UNKNOWN:
        blocks.append(section(_not_known(view)))
    return [*blocks, *stamps(view)]


def _small_print(incident: Incident, view: ProposalView, tasks: Mapping[str, Task]) -> list[Block]:
    """Who may decide and, folded, the steps and what an approval covers besides, whole; nothing once it has begun or
    ended."""
    if view.state not in UNDECIDED:
        return []
    who = [context(part) for text in _who_may(view) for part in pages(text, CONTEXT_TEXT)]
    proposal = view.proposal
    how_many = counted(len(proposal.preview.sentences), "step")
    steps = sections(_steps(view))
    if not _takes_yes(view):
        return [*who, *folded(f"What will happen: {how_many}", steps)]
    must = " · ".join(mrkdwn(short_paths(requirement_sentence(each))) for each in proposal.requirements)
    evidence = " · ".join(mrkdwn(each) for each in cited(proposal, incident.runs, tasks)) or (
        "none, a person asked for it"
    )
    texts = [
        *([f"*Runs only if:* {must}"] if must else []),
        f"*Evidence:* {evidence} · *Digest* {code(proposal.digest[:12])}",
    ]
    small = [context(part) for text in texts for part in pages(text, CONTEXT_TEXT)]
    return [*who, *folded(f"What will happen: {how_many}, conditions, evidence", [*steps, *small])]


def _sure(view: ProposalView) -> str:
    return f"{view.proposal.preview.sure} This approves only what this message shows."


def _yes_at_length(view: ProposalView) -> list[SectionBlock]:
    """Where the question at the button has no room for all of it."""
    if _fits(_sure(view), CONFIRM_TEXT):
        return []
    return sections(f"*What approving means*\n{mrkdwn(view.proposal.preview.sure)}")


def _fits(text: str, most: int) -> bool:
    """Whether a plain text is shown whole where there is so much room."""
    return len(inert(text)) <= most


def _too_long(incident: Incident) -> str:
    return (
        ":warning: *This is too long for one Slack message, so it cannot be approved here.* Read all of it, then "
        "approve it, or give the emergency approval, in a terminal: "
        f"{code(f'waterline proposal show {incident.id}')}"
    )


def _state(view: ProposalView) -> str:
    if view.state is ProposalState.HELD and view.held_until is not None:
        return f"{_STATE[view.state]} until {clock(view.held_until)}"
    if view.state is ProposalState.APPROVED and view.glass is not None:
        return ":rotating_light: Approved alone, ready to run"
    if view.state is not ProposalState.APPLIED or view.verified is None:
        return _STATE[view.state]
    how = ":white_check_mark: Done and" if view.verified.passed else ":warning: Done, but not"
    return f"{how} verified at head {short(view.verified.head)}"


def _steps(view: ProposalView) -> str:
    sentences = view.proposal.preview.sentences
    return "\n".join(f"{i}. {mrkdwn(short_paths(sentence))}" for i, sentence in enumerate(sentences, start=1))


def _recorded(view: ProposalView) -> str:
    """The terms, also when it is decided: they are looked up here for as long as they count."""
    lines = (f"• *{mrkdwn(t.name)}:* {mrkdwn(short_paths(t.says))}" for t in view.proposal.preview.recorded)
    return "\n".join(["*Terms*", *lines])


def _not_known(view: ProposalView) -> str:
    said = mrkdwn(short_paths(view.result.sentence)) if view.result is not None else ""
    return f"*Outcome unknown*\n{said}\n{mrkdwn(HOW_TO_SETTLE)}"


def _undo(view: ProposalView) -> str:
    return f"*How to undo it:* {mrkdwn(short_paths(view.proposal.undo))}"


def _buttons(incident: Incident, view: ProposalView, *, is_whole: bool) -> list[ButtonElement]:
    if not incident.is_open:
        return []
    proposal, policy = view.proposal, view.proposal.policy
    reject = button("Reject…", Click.REJECT, incident.id, proposal.id, style="danger")
    veto = [button("Veto…", Click.VETO, incident.id, proposal.id)] if policy.veto else []
    glass = (
        [button("Emergency approval…", Click.BREAK_GLASS, incident.id, proposal.id, proposal.digest)]
        if policy.break_glass and is_whole
        else []
    )
    match view.state:
        case ProposalState.PROPOSED:
            sure = confirm("Approve this?", _sure(view), "Approve")
            yes = button(
                "Approve", Click.APPROVE, incident.id, proposal.id, proposal.digest, style="primary", confirm=sure
            )
            return [*([yes] if is_whole else []), reject, *veto, *glass]
        case ProposalState.HELD:
            return [reject, *veto, *glass]
        case ProposalState.APPROVED:
            sure = confirm(
                "Run it now?",
                f"{proposal.preview.sure} Waterline checks the requirements first.",
                "Run it",
                style="danger",
            )
            execute = button("Execute", Click.EXECUTE, incident.id, proposal.id, style="danger", confirm=sure)
            return [execute, button("Reject…", Click.REJECT, incident.id, proposal.id), *veto]
        case ProposalState.UNKNOWN:
            return _settle_buttons(incident, view)
        case ProposalState.APPLIED if view.verified is not None and not view.verified.passed:
            return [button("Verify again", Click.VERIFY, incident.id, proposal.id), *_undo_button(incident, view)]
        case ProposalState.APPLIED | ProposalState.REFUSED:
            return _undo_button(incident, view)
        case _:
            return []


def _settle_buttons(incident: Incident, view: ProposalView) -> list[ButtonElement]:
    """A person's word where nobody else knows; a step of which later ones need more can only be said not to have
    happened."""
    index = unknown_effect(view)
    if index is None:
        return []
    step = f"Step {index + 1} ({describe(view.proposal.effects[index])})"
    about = (incident.id, view.proposal.id, str(index))
    yes = confirm("It happened?", f"{step} happened: the execution continues with the next step.", "It happened")
    no = confirm("It did not happen?", f"{step} did not happen: the execution ends here.", "It did not happen")
    happened = [button("Settle: it happened…", Click.SETTLE_HAPPENED, *about, confirm=yes)]
    return [
        *(happened if may_be_said_to_have_happened(view, index) else []),
        button("Settle: it did not happen…", Click.SETTLE_NOT, *about, confirm=no),
    ]


def _undo_button(incident: Incident, view: ProposalView) -> list[ButtonElement]:
    """Only where something was done; it proposes, and changes nothing by itself."""
    if not any(ended.how == "done" for ended in view.done.values()):
        return []
    return [button("Propose to undo it", Click.UNDO, incident.id, view.proposal.id)]


def execution_message(incident: Incident, view: ProposalView) -> tuple[str, list[Block]]:
    """Progress of the effects and the proof, updated in place. Once all is proven, the effects are small print."""
    if view.verified is not None and view.verified.passed:
        done = " ".join(mrkdwn(as_sentence(short_paths(ended.detail))) for _, ended in sorted(view.done.items()))
        return f"{incident.id}: execution {view.state.value}", [section(_proof(view)), context(done)]
    lines = []
    for index, effect in enumerate(view.proposal.effects):
        ended, started = view.done.get(index), view.started.get(index)
        if ended is not None:
            sign = {"done": ":white_check_mark:", "refused": ":no_entry:", "unknown": ":grey_question:"}[ended.how]
            lines.append(f"{sign} *{mrkdwn(describe(effect))}*: {mrkdwn(short_paths(ended.detail))}")
        elif started is not None:
            lines.append(f":hourglass_flowing_sand: *{mrkdwn(describe(effect))}*…")
        else:
            lines.append(f":white_circle: {mrkdwn(describe(effect))}")
    blocks: list[Block] = [section("\n".join(lines))]
    if view.result is not None and view.state is not ProposalState.APPLIED:
        blocks.append(section(mrkdwn(short_paths(view.result.sentence))))
    if view.state is ProposalState.APPLIED:
        blocks.insert(0, section(_proof(view)))
    return f"{incident.id}: execution {view.state.value}", blocks


def _proof(view: ProposalView) -> str:
    if view.verified is None:
        return ":hourglass_flowing_sand: *Verifying*: waiting for the next commits, then checking the rows again…"
    sign = {True: ":white_check_mark:", False: ":x:", None: ":grey_question:"}
    checks = "\n".join(f"{sign[c.passed]} *{mrkdwn(c.name)}.* {mrkdwn(c.sentence)}" for c in view.verified.checks)
    title = "Verified" if view.verified.passed else "Not verified"
    where = f" of branch {mrkdwn(view.verified.branch)}; main is unchanged" if view.verified.branch else ""
    return f"*{title} at head {short(view.verified.head)}{where}*\n{checks}"
