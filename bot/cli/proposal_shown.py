"""A proposal as a terminal shows it: all that its digest covers, and no character that hides."""

from collections.abc import Mapping

from rich.console import Console

from bot.domain.approval_count import missing_in_words, whom_to_ask
from bot.domain.approval_refusals import approved_by
from bot.domain.approval_times import last_approval_at
from bot.domain.cited import cited
from bot.domain.clock_time import clock_time
from bot.domain.evidence import Task
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import EvidenceId
from bot.domain.incident import EvidenceRun
from bot.domain.inert import visible
from bot.domain.proposal import Preview, returns
from bot.domain.requirements import Requirement
from bot.domain.sentences import counted
from bot.domain.settling import HOW_TO_SETTLE

DIGEST_SHOWN = 12
console = Console(soft_wrap=True, highlight=False)


def show_proposal(view: ProposalView, runs: Mapping[EvidenceId, EvidenceRun], tasks: Mapping[str, Task]) -> None:
    """What it does, takes off main and requires, the evidence that it cites of `runs`, its digest, and who is still to
    approve."""
    proposal = view.proposal
    say(f"{proposal.title} ({view.state.value}), proposed by <@{proposal.proposed_by}>\n{proposal.because}")
    for number, sentence in enumerate(proposal.preview.sentences, start=1):
        say(f"  {number}. {sentence}")
    for term in proposal.preview.recorded:
        say(f"  {term.name}: {term.says}")
    for line in _consequences(proposal.preview):
        say(line)
    say("It runs only while all of this holds:")
    for requirement in proposal.requirements:
        say(f"  {_required(requirement)}")
    say(f"Evidence: {', '.join(cited(proposal, runs, tasks)) or 'none: people asked for it'}")
    say(f"How to undo it: {proposal.undo}\nDigest: {proposal.digest[:DIGEST_SHOWN]}")
    if view.approvals:
        say(approved_by(view))
    if view.state is ProposalState.UNKNOWN and view.result is not None:
        say(f"{view.result.sentence}\n{HOW_TO_SETTLE}")
    if view.state is ProposalState.PROPOSED:
        needs = missing_in_words(proposal.policy, view.approvals)
        ask = whom_to_ask(proposal.policy, proposal.proposed_by, view.approvals)
        say(f"Needs {needs}, not the proposer's, until {clock_time(last_approval_at(view))}. {ask}")


def _consequences(preview: Preview) -> list[str]:
    """What leaves main, who has read it, and what a yes means."""
    counts = (counted(preview.commits, "commit"), counted(preview.files, "file"), counted(preview.rows, "row"))
    lines = [f"It removes from main: {', '.join(counts)}"]
    for other in preview.others:
        commits = ", ".join(str(each) for each in other.commits)
        told = f"{counted(other.rows, 'row')} of {other.writer} (commits {commits}){returns(other)}"
        lines.append(f"  Not read again by the job: {told}")
    if not preview.readers_known:
        lines.append("  Which consumer runs read them is not known: the lineage source could not be asked.")
    lines += [
        f"  Read by {run.consumer}, run {run.run_id}: snapshot {run.snapshot_id} at {run.at:%Y-%m-%d %H:%M:%S} UTC"
        for run in preview.affected_runs
    ]
    return [*lines, f"What a yes means: {preview.sure}"]


def _required(requirement: Requirement) -> str:
    """`head-descends: head=…, job_id=…`, as the digest covers it."""
    told = requirement.model_dump(mode="json", exclude={"kind"})
    return f"{requirement.kind}: {', '.join(f'{name}={value}' for name, value in told.items())}"


def say(text: str) -> None:
    """Line by line, nothing hidden: text that people typed cannot move the cursor over what was said before it."""
    for line in text.split("\n"):
        console.print(visible(line), markup=False)
