"""The runbook card: one message per incident that always shows the present step and how it came there."""

from slack_sdk.models.blocks import Block, ButtonElement, DividerBlock, SectionBlock

from bot.domain.diagnosis import Diagnosis, Remedy
from bot.domain.doubt import beside_trusted
from bot.domain.evidence import Progress, Task
from bot.domain.execution import UNFINISHED, ProposalState
from bot.domain.freezes import still_paused
from bot.domain.ids import short
from bot.domain.incident import EvidenceRun, Incident
from bot.domain.runbook import (
    ActionStep,
    DecisionStep,
    EvidenceStep,
    ManualStep,
    NoticeStep,
    ReviewStep,
    Step,
    StepOutcome,
)
from bot.domain.setup import TableSetup
from bot.domain.waterline import undo_left
from bot.history.recovery_deadline import deadline_in_short, is_soon
from bot.service.walking import current_step, walk_of
from bot.slack.blocks.evidence import RUN_AGAIN
from bot.slack.blocks.parts import actions, button, clock, confirm, context, header, measures, said, section, sign, size
from bot.slack.blocks.told import told_blocks
from bot.slack.ids import Click
from bot.slack.text import as_sentence, clipped, code, from_markdown, mrkdwn, person, short_paths, written

_SEVERITY = {"sev1": ":red_circle: Sev 1", "sev2": ":large_orange_circle: Sev 2", "sev3": ":large_blue_circle: Sev 3"}
_PATH_SHOWN = 8
_FOUND_SHOWN = 5


def card_message(
    incident: Incident, tasks: dict[str, Task], progress: Progress | None, setup: TableSetup | None
) -> tuple[str, list[Block]]:
    """(notification text, blocks). `progress` is of the current step's running task, if one runs here; `setup` is the
    table's, None when it is configured no more."""
    walk, current = walk_of(incident), current_step(incident)
    blocks: list[Block] = [header(f"{incident.id}: {incident.opened.runbook.title}"), _facts(incident)]
    if walk.passed:
        blocks.append(context(*_path(incident)))
    blocks += told_blocks(incident, setup)
    paused = still_paused(incident)
    if paused is not None:
        blocks.append(context(f":snowflake: {mrkdwn(paused)}"))
    blocks += _deadline(incident) if incident.is_open else []
    blocks.append(DividerBlock())
    if not incident.is_open:
        blocks.append(
            section(f":lock: *Closed* by {person(incident.closed_by)}: {mrkdwn(incident.closed_reason or '')}")
        )
        return f"{incident.id} on {incident.opened.table} is closed", blocks
    if current is None:
        blocks.append(section(":white_check_mark: *Runbook finished.* Close the incident when ready."))
    else:
        for why in (walk.stuck, walk.reason):
            if why:
                blocks.append(context(f":arrow_right: {mrkdwn(why)}"))
        blocks += _step(incident, current, tasks, progress)
    if incident.diagnosis_asked is not None:
        blocks.append(context(":hourglass_flowing_sand: Checking the table and the job for a diagnosis…"))
    blocks += [actions(_step_buttons(incident, current)), actions(_standing_buttons(incident))]
    title = current.title if current else "runbook finished"
    return f"{incident.id} on {incident.opened.table}: {title}", blocks


def _facts(incident: Incident) -> SectionBlock:
    responder = person(incident.responder) if incident.responder else "nobody yet"
    return SectionBlock(
        fields=[
            written(f"*Table*\n{code(incident.opened.table)}"),
            written(f"*Severity*\n{_SEVERITY[incident.severity]}"),
            written(f"*Trusted up to*\n{short(incident.trusted)} ({beside_trusted(incident)})"),
            written(f"*Responder*\n{responder}"),
        ]
    )


def _deadline(incident: Incident) -> list[Block]:
    """Until when it can be recovered, as of its newest entry: with each one the card is made anew."""
    deadline, now = incident.deadline_now, incident.entries[-1].at
    lines = deadline_in_short(deadline, now) if deadline is not None else ()
    if deadline is None or not lines:
        return []
    text = mrkdwn(clipped(" ".join(lines), 600))
    is_urgent = bool(deadline.lost_for_good) or is_soon(deadline, now)
    return [section(f":warning: {text}") if is_urgent else context(f":hourglass: {text}")]


def _found(step: Step, outcome: StepOutcome) -> tuple[str, str]:
    """(what came of a step, why). Of a diagnosis what was found, not what that asks for: the reason begins with it."""
    if isinstance(step, DecisionStep) and step.on == "remedy" and outcome.key in set(Remedy):
        code, _, why = outcome.why.partition(": ")
        return code, why
    return outcome.key.replace("-", " "), outcome.why


def _path(incident: Incident) -> list[str]:
    """One line a step taken, the newest last."""
    passed = walk_of(incident).passed
    lines = []
    for item in passed[-_PATH_SHOWN:]:
        sign_of = ":fast_forward:" if item.outcome.skipped else ":white_check_mark:"
        step = incident.opened.runbook.step(item.step)
        how, why = _found(step, item.outcome)
        lines.append(f"{sign_of} {mrkdwn(step.title)}: *{mrkdwn(how)}*. {mrkdwn(short_paths(as_sentence(why)))}")
    hidden = len(passed) - _PATH_SHOWN
    earlier = f"{hidden} earlier step{'s are' if hidden > 1 else ' is'} in the record"
    return ([earlier] if hidden > 0 else []) + [clipped(line, 500) for line in lines]


def _step(incident: Incident, step: Step, tasks: dict[str, Task], progress: Progress | None) -> list[Block]:
    number = 1 + len(walk_of(incident).passed)
    blocks: list[Block] = [
        section(f"*Step {number}: {mrkdwn(step.title)}*\n{from_markdown(clipped(step.prose, 1500))}")
    ]
    if isinstance(step, EvidenceStep):
        task = tasks.get(step.task)
        if task is not None:
            blocks.append(context(f":mag: {mrkdwn(task.question)} Reads {mrkdwn(task.cost_in_short)}."))
        run = incident.latest_run_of(step.id)
        if run is not None:
            blocks.append(section(_run_line(run, task, progress)))
    elif isinstance(step, DecisionStep) and step.on != "choice" and incident.diagnosis is not None:
        blocks.append(section(f"*Last diagnosis*\n{_named(incident.diagnosis)}"))
    elif isinstance(step, ActionStep):
        view = incident.current_proposal
        if view is not None and view.step == step.id:
            blocks.append(section(f"Proposal: *{view.state.value}*. Its message in this channel has the buttons."))
    return blocks


def _named(diagnosis: Diagnosis) -> str:
    """What was found, in the order in which to act; the modes that do not hold are in the thread."""
    lines = [f"• *{mrkdwn(mode.code)}*: {mrkdwn(as_sentence(mode.title))}" for mode, _match in diagnosis.matches]
    return "\n".join(lines[:_FOUND_SHOWN]) or mrkdwn(diagnosis.nothing_matches)


def _run_line(run: EvidenceRun, task: Task | None, progress: Progress | None) -> str:
    return _how_it_stands(run, task, progress) + (f"\n_{RUN_AGAIN}._" if run.is_again else "")


def _how_it_stands(run: EvidenceRun, task: Task | None, progress: Progress | None) -> str:
    if run.evidence is not None:
        told = measures(run.evidence.measures)
        verdict = run.evidence.verdict
        return f"{sign(verdict, task)} *{said(verdict)}*: {mrkdwn(run.evidence.headline)}" + (
            f"\n{told}" if told else ""
        )
    if run.ended is not None:
        return f":no_entry: {run.ended.how}: {mrkdwn(run.ended.message)}"
    if progress is None:
        return f":hourglass_flowing_sand: Asked by {person(run.by)} at {clock(run.requested_at)}, starting…"
    done = f"{progress.tasks_done} of {progress.tasks_total} Spark tasks, {size(progress.bytes_read)} read"
    return f":hourglass_flowing_sand: Running: {done}"


def _step_buttons(incident: Incident, step: Step | None) -> list[ButtonElement]:
    if step is None:
        sure = confirm("Close the incident?", _what_closing_means(incident), "Go on")
        return [button("Close…", Click.CLOSE, incident.id, style="primary", confirm=sure)]
    match step:
        case EvidenceStep():
            run = incident.latest_run_of(step.id)
            if run is not None and run.is_running:
                main = [button("Cancel", Click.CANCEL, incident.id, run.run, style="danger")]
            else:
                main = [
                    button(
                        "Run evidence" if run is None else "Run again",
                        Click.RUN,
                        incident.id,
                        step.task,
                        step.id,
                        style="primary",
                    )
                ]
        case DecisionStep(on="diagnosis" | "remedy"):
            main = [button("Diagnose", Click.DIAGNOSE, incident.id, style="primary")]
        case DecisionStep():
            main = [button(c.label, Click.CHOOSE, incident.id, step.id, c.key) for c in step.choices]
        case ActionStep():
            main = _propose_button(incident, step)
        case ManualStep():
            main = [button("Done", Click.DONE, incident.id, step.id, style="primary")]
        case NoticeStep():
            main = [
                button("Preview and send…", Click.PREVIEW_NOTICE, incident.id, step.notice, step.id, style="primary")
            ]
        case ReviewStep():
            main = [button("Open the review", Click.REVIEW, incident.id, step.id, style="primary")]
    return main if isinstance(step, ActionStep) else [*main, button("Skip…", Click.SKIP, incident.id, step.id)]


def _what_closing_means(incident: Incident) -> str:
    left = undo_left(incident)
    undo = "" if left is None else f" After that, “{clipped(left.proposal.title, 120)}” cannot be undone."
    return f"The record stays. Consumers get no further notice.{undo}"


def _propose_button(incident: Incident, step: ActionStep) -> list[ButtonElement]:
    view = incident.current_proposal
    pending = UNFINISHED | {ProposalState.APPLIED}
    if view is not None and view.step == step.id and view.state in pending:
        return [button("Diagnose again", Click.DIAGNOSE, incident.id)]
    label = "Propose again" if view is not None and view.step == step.id else "Propose"
    return [
        button(label, Click.PROPOSE, incident.id, step.action, step.id, style="primary"),
        button("Diagnose again", Click.DIAGNOSE, incident.id),
    ]


def _standing_buttons(incident: Incident) -> list[ButtonElement]:
    warned = any(view.notice.kind == "first_warning" for view in incident.notices.values())
    warn = [] if warned else [button("Warn consumers…", Click.PREVIEW_NOTICE, incident.id, "first_warning", "")]
    return [
        *warn,
        button("Take it" if incident.responder is None else "Take over", Click.TAKE, incident.id),
        button("Add a note…", Click.NOTE, incident.id),
        button("Export the record", Click.EXPORT, incident.id),
    ]
