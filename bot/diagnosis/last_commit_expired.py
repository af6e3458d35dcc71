"""F8: maintenance expired the last snapshot of the job, so a restart finds no commit of its own below the head.

The sink then takes every checkpoint for uncommitted and asks for Flink manifests that were deleted after their
commit (facts F8; `retain_last = 1` after a compaction or another engine's commit is enough).
"""

from bot.diagnosis._support.case import living, not_asked, unseen
from bot.diagnosis._support.missing_manifest import Fate, MissingManifest, fate, missing_manifest
from bot.history.case import Case
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import LastCommit
from bot.observation.flink import JobRun
from bot.observation.ids import short, short_job
from bot.observation.looked import NotSeen

MODE = Mode(
    code="F8",
    name="last_commit_expired",
    title="the job's last snapshot was expired",
    needs=("table_health",),
    false_positives=(
        "A brand-new job that has not committed yet.",
        "A job of another table that was configured for this one.",
    ),
    neighbours={
        "F9": "There the run has snapshots on main and a file was deleted without a commit. Here all "
        "snapshots of the run were expired.",
    },
    act=Act.RECOVER,
    remedies=(Remedy.CHANGE_OPERATOR_UID, Remedy.PROTECT_LAST_COMMIT),
)
_SOON_S = 24 * 3600


def examine(case: Case) -> Examined:
    """Matches when a run that has committed has no snapshot listed, or fails for a manifest of such a run."""
    lost = missing_manifest(case)
    if lost is not None and fate(case, lost) is Fate.RUN_UNLISTED:
        return _restart_fails(case, lost)
    if isinstance(case.observation.jobs, NotSeen):
        return CannotTell(missing=(unseen(case.observation.jobs),))
    if case.table_health is None:
        return CannotTell(missing=(not_asked(case, "table_health"),))
    run = next(reversed(living(case) or case.runs), None)
    gone = next(
        (c for c in case.table_health.last_commits if run and c.snapshot_id is None and c.job_id == run.job_id), None
    )
    if gone is None or run is None:
        return Excluded(reason=_why_not(case.table_health.last_commits))
    return _not_listed(case, run, gone)


def _why_not(last_commits: tuple[LastCommit, ...]) -> str:
    threatened = [c for c in last_commits if c.expires_within_s is not None and c.expires_within_s < _SOON_S]
    if threatened:
        last = min(threatened, key=lambda c: c.expires_within_s or 0)
        when = "now" if not last.expires_within_s else f"in {last.expires_within_s / 3600:.1f} hours"
        return (
            f"Every run's last snapshot is still listed, but {short(last.snapshot_id)} of run "
            f"{short_job(last.job_id)} is kept by no branch or tag and may be expired {when}: tag it."
        )
    return "The table still lists the last snapshot of every run that is alive or wrote in the window."


def _where_the_table_begins(case: Case) -> str:
    chain = case.observation.table.chain
    if chain and chain[-1].parent_id is not None:
        return (
            f"The oldest listed snapshot on main is {short(chain[-1].snapshot_id)}; its parent "
            f"{short(chain[-1].parent_id)} was expired."
        )
    return "The table lists no snapshot below the first on main."


def _restart_fails(case: Case, lost: MissingManifest) -> Matches:
    return _match(
        case,
        f"Run {short_job(lost.run)} cannot restart: the last snapshot of run {short_job(lost.job_id)} was expired.",
        (
            f"It fails for {lost.name}, the manifest of checkpoint {lost.checkpoint_id}, {lost.times} times since its "
            "last checkpoint.",
            f"The table lists no snapshot of run {short_job(lost.job_id)} and operator "
            f"{short_job(lost.operator_id)}, so the sink takes the checkpoint for uncommitted.",
            _where_the_table_begins(case),
            f"Before the uid is changed: prove that the rows of checkpoint {lost.checkpoint_id} are in the head. If "
            "they are not, they must be read again from the source.",
        ),
        Remedy.CHANGE_OPERATOR_UID,
    )


def _not_listed(case: Case, run: JobRun, gone: LastCommit) -> Matches:
    seen = f" up to checkpoint {gone.checkpoint_id}" if gone.checkpoint_id is not None else ""
    reasons = (
        f"Run {short_job(gone.job_id)} has committed{seen}, and the table lists no snapshot of it any more.",
        _where_the_table_begins(case),
    )
    if run.is_settled:
        return _match(
            case,
            f"The last snapshot of run {short_job(run.job_id)} was expired; its next restart would fail.",
            (
                *reasons,
                "The run itself goes on: it remembers what it has committed until it restarts. Its next commit is "
                "listed again; tag that one, and keep the newest snapshot of each run from expiry.",
            ),
            Remedy.PROTECT_LAST_COMMIT,
            how="wait for its next commit, then tag that before maintenance expires it",
        )
    return _match(
        case,
        f"The last snapshot of run {short_job(run.job_id)} was expired; it cannot be restored as it is.",
        (
            *reasons,
            f"The run is {run.state}: a restart takes its last checkpoint for uncommitted and fails with "
            "NotFoundException.",
        ),
        Remedy.CHANGE_OPERATOR_UID,
    )


def _match(case: Case, headline: str, reasons: tuple[str, ...], remedy: Remedy, how: str | None = None) -> Matches:
    return Matches(
        headline=headline,
        reasons=reasons,
        last_good=case.observation.table.head,
        remedy=remedy,
        how=how,
    )
