"""What a proposal takes off main, and who has read it: all of it, for the approval covers it."""

from collections.abc import Sequence

from bot.domain.ids import SnapshotId, short
from bot.domain.proposal import AffectedRun, Preview, returns
from bot.domain.sentences import counted
from bot.slack.blocks.parts import clock
from bot.slack.text import code, mrkdwn

_ONE_A_LINE = 10
"""Of so many runs each has a line; more are named by consumer and snapshot, so that a message holds hundreds."""


def taken_off_main(preview: Preview, *, is_over: bool) -> str:
    """Commits, files and rows, other writers, and every consumer run; mrkdwn, escaped. `is_over`: as it was
    approved."""
    if not (preview.commits or preview.files or preview.rows or preview.affected_runs):
        return "*What it takes off main*\nNothing: no commit leaves the table."
    title = "What it took off main, as approved" if is_over else "What it takes off main"
    counts = ((preview.commits, "commit"), (preview.files, "file"), (preview.rows, "row"))
    what = ", ".join(counted(number, unit) for number, unit in counts if number) or "What consumers have read"
    taken = f"*{title}*\n{what}; they stay readable under a tag"
    if preview.others:
        taken += "\n:warning: *Of other writers, and not read again by the job:* " + ", ".join(
            f"{counted(each.rows, 'row')} of {mrkdwn(each.writer)}{returns(each)}" for each in preview.others
        )
    if not preview.readers_known:
        return taken + "\n:warning: Which consumer runs read them is not known: the lineage source could not be asked."
    if not preview.affected_runs:
        return taken + "\nNo observed consumer run has read them."
    return f"{taken}\n*Consumer runs that read them*\n{_runs(preview.affected_runs)}"


def _runs(runs: Sequence[AffectedRun]) -> str:
    """Every one, for the approval covers them all."""
    if len(runs) <= _ONE_A_LINE:
        return "\n".join(
            f"• {mrkdwn(run.consumer)} run {code(run.run_id[:8])} read {short(run.snapshot_id)} at {clock(run.at)}"
            for run in runs
        )
    together: dict[tuple[str, SnapshotId], list[str]] = {}
    for run in runs:
        told = f"{code(run.run_id[:8])} {run.at:%H:%M:%S}"
        together.setdefault((run.consumer, run.snapshot_id), []).append(told)
    return "\n".join(
        f"• {mrkdwn(consumer)} read {short(snapshot)}: {', '.join(told)} UTC"
        for (consumer, snapshot), told in together.items()
    )
