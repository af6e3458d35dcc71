"""Which sinks of a table are surely another job's than the one that wrote a leaked manifest, and read other sources.

That a sink has another operator id does not make it another job's: the remedy of F4 is a new uid.
"""

from bot.domain.beginnings import began_without_state, first_shown
from bot.domain.flink import FlinkManifest, JobRun, names_run
from bot.domain.guests import BESIDE
from bot.domain.ids import OperatorId
from bot.domain.table import Snapshot, TableState


def sinks_beside(leak: FlinkManifest, wrote: JobRun | None, table: TableState) -> frozenset[OperatorId | None]:
    """Those that committed while the submission that wrote the manifest was at work, and before it wrote that: in a
    hand-over that went wrong one or two commits of the run before still come. Empty where Flink lists it no more.

    `wrote`: that submission.
    """
    if wrote is None or leak.written_at is None:
        return frozenset()
    found, mine = set[OperatorId | None](), 0
    for commit in reversed(table.chain):
        if not wrote.started_at <= commit.committed_at < leak.written_at or commit.is_repair:
            continue
        if commit.job_id == leak.job_id:
            mine += commit.operator_id == leak.operator_id
        elif mine >= BESIDE:
            found.add(commit.operator_id)
    return frozenset(found - {commit.operator_id for commit in table.chain if commit.job_id == leak.job_id} - {None})


def is_of_another(run: JobRun, leak: FlinkManifest, wrote: JobRun | None, table: TableState) -> bool:
    """Whether a run that Flink lists under another name than the manifest's job, and of which no kinship is told, is
    surely of another job: it commits by a sink that was at work beside that job, or began from a point of one, or from
    a point of another sink whose state that job did not go on from."""
    beside = sinks_beside(leak, wrote, table)
    shown = first_shown(run)
    theirs = [s for s in table.chain if s.job_id is not None and shown is not None and names_run(shown.path, s.job_id)]
    own = [s for s in table.chain if s.job_id == run.job_id and s.committed_at >= run.started_at]
    if any(told and {s.operator_id for s in told} <= beside for told in (theirs, own)):
        return True
    if not theirs or wrote is None or any(s.operator_id in {None, leak.operator_id} for s in theirs):
        return False
    return not _may_be_its_past(theirs, leak, wrote, table)


def _may_be_its_past(theirs: list[Snapshot], leak: FlinkManifest, wrote: JobRun, table: TableState) -> bool:
    """Whether the job that wrote the manifest may have gone on from the runs of these commits: it began from a point of
    theirs or Flink does not show from where, or it had written the table before, and only after all of them."""
    by_its_sink = [s for s in table.chain if s.operator_id == leak.operator_id]
    its = (s.committed_at for s in by_its_sink if s.job_id == leak.job_id and s.committed_at >= wrote.started_at)
    shown = first_shown(wrote)
    is_shown_apart = shown is not None and not any(s.job_id and names_run(shown.path, s.job_id) for s in theirs)
    if not is_shown_apart and not began_without_state(wrote, min(its, default=None)):
        return True
    first = min((s.committed_at for s in by_its_sink), default=wrote.started_at)
    return first < wrote.started_at and all(s.committed_at < first for s in theirs)
