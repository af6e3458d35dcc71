"""The runbook card: one message per incident that always shows the present step and how it came there."""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from slack_sdk.models.blocks import Block, ButtonElement, DividerBlock, SectionBlock

from bot.incident.diagnosis import Diagnosis, Remedy
from bot.incident.doubt import beside_trusted, up_to
from bot.incident.effects import KeepSavepoint
from bot.incident.execution import UNFINISHED, ProposalState
from bot.incident.incident import Incident
from bot.incident.recovery_deadline import deadline_in_short, is_soon
from bot.incident.runbook import (
    NOT_POSSIBLE,
    ActionStep,
    DecisionStep,
    EvidenceStep,
    ManualStep,
    NoticeStep,
    ReviewStep,
    Runbook,
    Step,
    StepOutcome,
)
from bot.incident.setup import TableSetup
from bot.incident.waterline import undo_left
from bot.observation.evidence import Progress, Task, Verdict
from bot.observation.ids import EvidenceId, short
from bot.observation.sentences import counted
from bot.runbook.progress import Passed, Position, evidence_ahead
from bot.service.runbook_steps import current_step, steps_ahead, walk_of
from bot.slack.blocks.evidence import RUN_AGAIN
from bot.slack.blocks.notices import to_do_blocks, told_blocks
from bot.slack.blocks.parts import actions, button, confirm, context, folded, header, section, sections, sign, size
from bot.slack.blocks.proposal import waits_for
from bot.slack.ids import Click
from bot.slack.text import as_sentence, clipped, code, from_markdown, mrkdwn, person, short_paths, written

_SEVERITY = {"sev1": ":red_circle: Sev 1", "sev2": ":large_orange_circle: Sev 2", "sev3": ":large_blue_circle: Sev 3"}
_PATH_SHOWN = 9
_FOUND_SHOWN = 5
_PASSED_LINE, _WHY_LEAST = 140, 40


Progresses = Callable[[EvidenceId], Progress | None]
"""How far a run is that runs here."""


def card_message(
    incident: Incident,
    tasks: Mapping[str, Task],
    progress: Progresses,
    setup: TableSetup | None,
    better: Runbook | None = None,
) -> tuple[str, list[Block]]:
    """(notification text, blocks). `setup` is the table's, None when it is configured no more; `better`: the runbook
    that fits what was named, where that is another one."""
    if not incident.is_open:
        return f"{incident.id} on {incident.opened.table} is closed", _closed(incident)
    walk, current = walk_of(incident), current_step(incident)
    here = _round(incident, walk) if isinstance(current, EvidenceStep) else []
    blocks: list[Block] = [header(f"{incident.id}: {incident.runbook.title}"), _facts(incident)]
    passed = [item for item in walk.passed if item.step not in {step.id for step in here}]
    if passed:
        path = context(*_path(incident, passed, tasks))
        newest = incident.runbook.step(passed[-1].step).title
        blocks += folded(f"{counted(len(passed), 'step')} done, the last: {newest}", [path])
    blocks += told_blocks(incident, setup)
    blocks += [*_deadline(incident), DividerBlock()]
    last = passed[-1] if passed else None
    impossible = last.reason if last is not None and last.outcome.key == NOT_POSSIBLE else None
    for why in (walk.stuck, impossible):
        if why and current is not None:
            blocks.append(context(f":arrow_right: {mrkdwn(why)}"))
    if current is None:
        blocks.append(section(":white_check_mark: *Runbook finished.* Close the incident when ready."))
    elif here:
        blocks += _evidence(incident, here, tasks, progress)
    else:
        blocks += _step(incident, current)
    is_naming = isinstance(current, DecisionStep) and current.on != "choice" and not incident.is_stopped
    if incident.diagnosis_asked is not None or (is_naming and walk.stuck is None):
        blocks.append(
            context(f":hourglass_flowing_sand: Checking the table and the job for a diagnosis{_now(incident, tasks)}…")
        )
    if better is not None:
        change = button("Change the runbook", Click.CHANGE_RUNBOOK, incident.id, better.id)
        text = f"The diagnosis fits another symptom: *{mrkdwn(better.title)}*. The evidence is kept."
        blocks.append(SectionBlock(text=written(text), accessory=change))
    blocks += [actions(_step_buttons(incident, current)), actions(_standing_buttons(incident))]
    title = current.title if current else "runbook finished"
    return f"{incident.id} on {incident.opened.table}: {title}", blocks


def _closed(incident: Incident) -> list[Block]:
    """How it ended, in one section; and what somebody must still do about those who were notified."""
    told = (
        f":lock: *{incident.id}: {mrkdwn(incident.runbook.title)}* on {code(incident.opened.table)}\n"
        f"*Closed* by {person(incident.closed_by)}: {mrkdwn(as_sentence(incident.closed_reason or ''))} "
        f"{up_to(incident)} {short(incident.trusted)} ({beside_trusted(incident)})."
    )
    review = [button("Open the review", Click.REVIEW, incident.id, "")] if incident.review is None else []
    return [section(told), *to_do_blocks(incident), actions([_export_button(incident), *review])]


def _facts(incident: Incident) -> SectionBlock:
    responder = person(incident.responder) if incident.responder else "nobody yet"
    return SectionBlock(
        fields=[
            written(f"*Table*\n{code(incident.opened.table)}"),
            written(f"*Severity*\n{_SEVERITY[incident.severity]}"),
            written(f"*{up_to(incident)}*\n{short(incident.trusted)} ({beside_trusted(incident)})"),
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


def _path(incident: Incident, passed: Sequence[Passed], tasks: Mapping[str, Task]) -> list[str]:
    """One short line a step taken, the newest last."""
    lines = []
    for item in passed[-_PATH_SHOWN:]:
        step = incident.runbook.step(item.step)
        sign_of = ":fast_forward:" if item.outcome.skipped else ":white_check_mark:"
        if isinstance(step, EvidenceStep) and not item.outcome.skipped:
            sign_of = sign(Verdict(item.outcome.key), tasks.get(step.task))
        how, why = _found(step, item.outcome)
        if isinstance(step, EvidenceStep) and not item.outcome.skipped and step.task in tasks:
            how = tasks[step.task].word(Verdict(item.outcome.key))
        room = max(_WHY_LEAST, _PASSED_LINE - len(step.title) - len(how))
        because = _beginning(short_paths(as_sentence(why)), room)
        lines.append(f"{sign_of} {mrkdwn(step.title)}: *{mrkdwn(how)}*. {mrkdwn(because)}")
    hidden = len(passed) - _PATH_SHOWN
    earlier = f"{hidden} earlier step{'s are' if hidden > 1 else ' is'} in the record"
    return ([earlier] if hidden > 0 else []) + lines


def _beginning(text: str, most: int) -> str:
    """As many whole sentences as fit; of one that is longer, whole words."""
    if len(text) <= most:
        return text
    end = text.rfind(". ", 0, most)
    if end > 0:
        return text[: end + 1]
    return f"{text[: most - 1].rpartition(' ')[0] or text[: most - 1]}…"


def _step(incident: Incident, step: Step) -> list[Block]:
    """What is to be done. While a proposal of it is under way, only how far that has come: its message has the rest."""
    title = f"*Step {1 + len(walk_of(incident).passed)}: {mrkdwn(step.title)}*"
    view, diagnosis, proposed = incident.current_proposal, incident.diagnosis, ""
    if isinstance(step, ActionStep) and view is not None and view.step == step.id:
        waits = f", waits for {waits_for(view)}" if view.state is ProposalState.PROPOSED else ""
        proposed = f"\nProposal: *{view.state.value}*{waits}. The buttons are on its message in this channel."
        is_proven = view.verified is None or view.verified.passed
        if view.state in UNFINISHED or (view.state is ProposalState.APPLIED and is_proven):
            return [section(f"{title}{proposed}")]
    blocks: list[Block] = [section(f"{title}\n{from_markdown(clipped(step.prose, 1500))}{proposed}")]
    if isinstance(step, ActionStep) and diagnosis is not None:
        blocks.insert(0, section(f"{_named(diagnosis)}{_to_do(diagnosis)}"))
    if isinstance(step, DecisionStep) and step.on != "choice" and diagnosis is not None:
        blocks.append(section(f"*Last diagnosis*\n{_named(diagnosis)}"))
    return blocks


def _round(incident: Incident, walk: Position) -> list[EvidenceStep]:
    """The evidence that belongs together here: answered right before, and still to come."""
    taken = (incident.runbook.step(item.step) for item in reversed(walk.passed))
    before = list(takewhile(lambda step: isinstance(step, EvidenceStep), taken))
    steps = (*reversed(before), *evidence_ahead(incident.runbook, incident.outcomes))
    return [step for step in steps if isinstance(step, EvidenceStep)]


def _evidence(
    incident: Incident, steps: Sequence[EvidenceStep], tasks: Mapping[str, Task], progress: Progresses
) -> list[Block]:
    """What was found and what it means, what runs, what failed, what comes."""
    answered = sum(step.id in incident.outcomes for step in steps)
    state = " · stopped" if incident.is_stopped else ""
    first = steps[0].before or steps[0].hint
    lines = [clipped(_evidence_line(incident, step, tasks.get(step.task), progress, first), 600) for step in steps]
    title = f"*Evidence: {answered} of {len(steps)} answered{state}*"
    return [
        section("\n".join(filter(None, (title, from_markdown(clipped(first, 600)))))),
        *sections("\n".join(lines)),
    ]


def _evidence_line(
    incident: Incident, step: EvidenceStep, task: Task | None, progress: Progresses, said_first: str
) -> str:
    title, outcome, run = mrkdwn(step.title), incident.outcomes.get(step.id), incident.latest_run_of(step.id)
    again = f" _{RUN_AGAIN}._" if run is not None and run.is_again else ""
    if run is not None and run.is_running:
        done = progress(run.run)
        so_far = f"{done.tasks_done} of {done.tasks_total} Spark tasks, {size(done.bytes_read)} read" if done else "…"
        return f":hourglass_flowing_sand: *{title}*: {so_far}{again}"
    if outcome is not None and outcome.skipped:
        return f":fast_forward: *{title}* was skipped: {mrkdwn(outcome.why)}"
    if outcome is not None:
        verdict = Verdict(outcome.key)
        is_to_look_at = verdict is Verdict.CONFIRMED and step.hint != said_first
        word, label = (task.word(verdict), task.label(verdict)) if task is not None else ("answered", "")
        meaning = from_markdown(" ".join(filter(None, (step.meaning(label), step.hint if is_to_look_at else ""))))
        found = f"{sign(verdict, task)} *{title}: {word}.* {mrkdwn(short_paths(as_sentence(outcome.why)))}"
        return f"{found}{again}" + (f"\n{meaning}" if meaning else "")
    if run is not None and run.ended is not None and run.run not in incident.runs_before:
        is_failed = run.ended.how == "failed"
        how = f"could not be answered: {mrkdwn(run.ended.message)}{again}" if is_failed else "was cancelled."
        return f":no_entry: *{title}* {how}"
    reads = f" Reads {mrkdwn(task.cost_in_short)}." if task is not None and incident.is_stopped else ""
    return f":white_circle: *{title}*: {mrkdwn(task.question if task is not None else 'waits')}{reads}"


def _now(incident: Incident, tasks: Mapping[str, Task]) -> str:
    running = [tasks[run.task].title for run in incident.runs.values() if run.is_running and run.task in tasks]
    return f": {mrkdwn(', '.join(running))}" if running else ""


def _run_or_stop(incident: Incident) -> ButtonElement:
    """Evidence and diagnosis go on by themselves, unless somebody has stopped them, or what is left has failed."""
    runs = [incident.latest_run_of(step.id) for step in steps_ahead(incident)]
    has_failed = [r is not None and r.ended is not None and r.run not in incident.runs_before for r in runs]
    if incident.is_stopped or (runs and all(has_failed)):
        return button("Run all", Click.RUN_ALL, incident.id, style="primary")
    return button("Stop collecting", Click.STOP, incident.id, style="danger")


def _to_do(diagnosis: Diagnosis) -> str:
    return f"\n*What to do*: {mrkdwn(as_sentence(diagnosis.decisive[1].what_to_do))}" if diagnosis.decisive else ""


def _named(diagnosis: Diagnosis) -> str:
    """What was found, in the order in which to act; what is only worth knowing beside it is in the thread."""
    shown = diagnosis.to_act_on or diagnosis.matches
    lines = [f"• *{mrkdwn(mode.code)}*: {mrkdwn(as_sentence(match.headline))}" for mode, match in shown]
    return "\n".join(lines[:_FOUND_SHOWN]) or mrkdwn(diagnosis.nothing_matches)


def _step_buttons(incident: Incident, step: Step | None) -> list[ButtonElement]:
    if step is None:
        sure = confirm("Close the incident?", _what_closing_means(incident), "Go on")
        return [button("Close…", Click.CLOSE, incident.id, style="primary", confirm=sure)]
    match step:
        case EvidenceStep():
            main = [_run_or_stop(incident)]
        case DecisionStep(on="diagnosis" | "remedy"):
            main = [_run_or_stop(incident), button("Diagnose", Click.DIAGNOSE, incident.id)]
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
    view, again = incident.current_proposal, button("Diagnose again", Click.DIAGNOSE, incident.id)
    is_of_step = view is not None and view.step == step.id
    if view is not None and is_of_step and view.state in UNFINISHED | {ProposalState.APPLIED}:
        return [again]
    label = "Propose again" if is_of_step else "Propose"
    return [button(label, Click.PROPOSE, incident.id, step.action, step.id, style="primary"), again]


def _standing_buttons(incident: Incident) -> list[ButtonElement]:
    warned = any(view.notice.kind == "warning" for view in incident.notices.values())
    warn = [] if warned else [button("Warn consumers…", Click.PREVIEW_NOTICE, incident.id, "warning", "")]
    plan = [button("Plan a savepoint…", Click.SAVEPOINT, incident.id)] if _may_plan(incident) else []
    return [
        *warn,
        *plan,
        button("Take it" if incident.responder is None else "Take over", Click.TAKE, incident.id),
        button("Add a note…", Click.NOTE, incident.id),
        button("Change severity…", Click.SEVERITY, incident.id),
        _export_button(incident),
    ]


def _may_plan(incident: Incident) -> bool:
    """Whether a savepoint belongs to its work, or somebody has proposed one."""
    effects = (effect for view in incident.proposals.values() for effect in view.proposal.effects)
    return incident.runbook.is_planned or any(isinstance(effect, KeepSavepoint) for effect in effects)


def _export_button(incident: Incident) -> ButtonElement:
    return button("Export the record", Click.EXPORT, incident.id)
