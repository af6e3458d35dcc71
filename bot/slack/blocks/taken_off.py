"""What a proposal removes from main, and who has read it: all of it, for the approval covers it."""

from collections.abc import Sequence

from bot.domain.ids import SnapshotId, short
from bot.domain.proposal import AffectedRun, Preview, returns
from bot.domain.sentences import counted
from bot.slack.blocks.parts import clock
from bot.slack.text import code, mrkdwn

_ONE_A_LINE = 10
"""Of so many runs each has a line; more are named by consumer and snapshot, so that a message holds hundreds."""


def removed_from_main(preview: Preview) -> str:
    """Commits, files and rows, other writers, and every consumer run; mrkdwn, escaped."""
    if not (preview.commits or preview.files or preview.rows or preview.affected_runs):
        return "*Removes from main*\nNothing."
    counts = ((preview.commits, "commit"), (preview.files, "file"), (preview.rows, "row"))
    what = ", ".join(counted(number, unit) for number, unit in counts if number) or "Rows that consumers have read"
    taken = f"*Removes from main*\n{what}. They stay readable under a tag."
    if preview.others:
        taken += "\n:warning: *Rows of other writers, which the job does not read again:* " + ", ".join(
            f"{counted(each.rows, 'row')} of {mrkdwn(each.writer)}{returns(each)}" for each in preview.others
        )
    if not preview.readers_known:
        return taken + "\n:warning: Readers unknown: the lineage source did not answer."
    if not preview.affected_runs:
        return taken + "\nLineage shows no consumer run that read them."
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
