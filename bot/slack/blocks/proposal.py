"""A proposal and, once decided, the stamp of the decision; then how far its execution has come."""

from slack_sdk.models.blocks import Block, ButtonElement

from bot.actions._effects import describe
from bot.domain.approval import ApprovalPolicy, whom_to_ask
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import short
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.slack.blocks.parts import actions, button, clock, confirm, context, header, number, section
from bot.slack.ids import Click
from bot.slack.text import code, mrkdwn

_STATE = {
    ProposalState.PROPOSED: ":ballot_box_with_ballot: Waiting for approval",
    ProposalState.APPROVED: ":white_check_mark: Approved, not yet carried out",
    ProposalState.EXECUTING: ":hourglass_flowing_sand: Being carried out",
    ProposalState.APPLIED: ":white_check_mark: Carried out",
    ProposalState.REFUSED: ":no_entry_sign: Refused at execution",
    ProposalState.UNKNOWN: ":grey_question: Outcome unknown, being looked into",
    ProposalState.REJECTED: ":x: Rejected",
    ProposalState.EXPIRED: ":hourglass: Expired",
    ProposalState.SUPERSEDED: ":leftwards_arrow_with_hook: Superseded",
}


def proposal_message(incident: Incident, view: ProposalView) -> tuple[str, list[Block]]:
    """(notification text, blocks). Buttons are there only while they can do something."""
    proposal, preview = view.proposal, view.proposal.preview
    steps = "\n".join(f"{i}. {mrkdwn(sentence)}" for i, sentence in enumerate(preview.sentences, start=1))
    blocks: list[Block] = [
        header(f"{incident.id}: {proposal.title}"),
        section(f"*{_STATE[view.state]}* · proposed by <@{proposal.proposed_by}>\n{mrkdwn(proposal.because)}"),
        section(f"*What will happen*\n{steps}"),
        section(_affected(view)),
        section(f"*Undo*\n{mrkdwn(proposal.undo)}"),
        *_stamps(view),
        context(
            f"Digest {code(proposal.digest[:12])} covers effects, requirements, evidence and preview.",
            f"Needs {proposal.policy.required} approval{'s' if proposal.policy.required > 1 else ''}, "
            f"not the proposer's. {_approvers(proposal.policy, proposal.proposed_by)} "
            f"Can be approved until {proposal.expires_at:%H:%M} UTC.",
        ),
    ]
    buttons = _buttons(incident, view)
    if buttons:
        blocks.append(actions(buttons))
    return f"{incident.id}: {proposal.title} ({view.state.value})", blocks


def _approvers(policy: ApprovalPolicy, proposer: str) -> str:
    return whom_to_ask(policy, proposer)  # type: ignore[arg-type]


def _affected(view: ProposalView) -> str:
    preview = view.proposal.preview
    taken = (
        f"*What it takes off main*\n{number(preview.commits)} commits, {number(preview.files)} files, "
        f"{number(preview.rows)} rows (kept under a tag)"
    )
    if not preview.readers_known:
        return taken + "\n:warning: Which consumer runs read them is not known: the lineage source could not be asked."
    if not preview.affected_runs:
        return taken + "\nNo observed consumer run has read them."
    runs = "\n".join(
        f"• {mrkdwn(run.consumer)} run {code(run.run_id[:8])} read {short(run.snapshot_id)} at {clock(run.at)}"
        for run in preview.affected_runs[:10]
    )
    return f"{taken}\n*Consumer runs that read them*\n{runs}"


def _stamps(view: ProposalView) -> list[Block]:
    lines = [f":heavy_check_mark: Approved by <@{a.by}> at {clock(a.at)}" for a in view.approvals]
    if view.ended is not None and view.ended_at is not None:
        who = "" if view.ended_by in (None, WATERLINE) else f" by <@{view.ended_by}>"
        lines.append(f"{view.ended.how.capitalize()}{who} at {clock(view.ended_at)}: {mrkdwn(view.ended.reason)}")
    if view.execution_started_at is not None:
        lines.append(f":arrow_forward: Started by <@{view.executed_by}> at {clock(view.execution_started_at)}")
    return [section("\n".join(lines))] if lines else []


def _buttons(incident: Incident, view: ProposalView) -> list[ButtonElement]:
    if not incident.is_open:
        return []
    proposal = view.proposal
    match view.state:
        case ProposalState.PROPOSED:
            sure = confirm(
                "Approve this rewind?",
                f"{proposal.preview.rows:,} rows leave main of {proposal.table}, the job restarts from checkpoint "
                f"{proposal.preview.replayed_from}. You approve exactly what is shown.",
                "Approve",
            )
            return [
                button(
                    "Approve", Click.APPROVE, incident.id, proposal.id, proposal.digest, style="primary", confirm=sure
                ),
                button("Reject…", Click.REJECT, incident.id, proposal.id, style="danger"),
            ]
        case ProposalState.APPROVED:
            sure = confirm(
                "Carry it out now?",
                "The job is stopped, the table is moved and the job is started again. Requirements are checked first.",
                "Carry it out",
                style="danger",
            )
            return [button("Execute", Click.EXECUTE, incident.id, proposal.id, style="danger", confirm=sure)]
        case ProposalState.APPLIED if view.verified is not None and not view.verified.passed:
            return [button("Verify again", Click.VERIFY, incident.id, proposal.id)]
        case _:
            return []


def execution_message(incident: Incident, view: ProposalView) -> tuple[str, list[Block]]:
    """Progress of the effects and the proof, updated in place."""
    lines = []
    for index, effect in enumerate(view.proposal.effects):
        ended, started = view.done.get(index), view.started.get(index)
        if ended is not None:
            sign = {"done": ":white_check_mark:", "refused": ":no_entry_sign:", "unknown": ":grey_question:"}[ended.how]
            lines.append(f"{sign} *{mrkdwn(describe(effect))}*: {mrkdwn(ended.detail)}")
        elif started is not None:
            lines.append(f":hourglass_flowing_sand: *{mrkdwn(describe(effect))}*…")
        else:
            lines.append(f":white_small_square: {mrkdwn(describe(effect))}")
    blocks: list[Block] = [section("*Execution*\n" + "\n".join(lines))]
    if view.result is not None and view.state is not ProposalState.APPLIED:
        blocks.append(section(mrkdwn(view.result.sentence)))
    if view.state is ProposalState.APPLIED:
        blocks.append(section(_proof(view)))
    return f"{incident.id}: execution {view.state.value}", blocks


def _proof(view: ProposalView) -> str:
    if view.verified is None:
        return ":hourglass_flowing_sand: *Verifying*: waiting for the next commits, then looking at rows again…"
    sign = {True: ":white_check_mark:", False: ":x:", None: ":grey_question:"}
    checks = "\n".join(f"{sign[c.passed]} {mrkdwn(c.name)}. {mrkdwn(c.sentence)}" for c in view.verified.checks)
    title = "Proven" if view.verified.passed else "Not proven"
    return f"*{title}, at head {short(view.verified.head)}*\n{checks}"
