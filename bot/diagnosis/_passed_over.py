"""Checkpoints that the sink passed over for good, told by the Flink manifests that it left."""

from bot.diagnosis._empty_starts import empty_starts
from bot.diagnosis._leaks import can_be_appended, in_words
from bot.domain.diagnosis import Case, Matches, Remedy
from bot.domain.findings import LeakedManifest, LeakStanding
from bot.domain.ids import short, short_job
from bot.domain.rewinds import flink_commits


def passed_over(case: Case) -> tuple[LeakedManifest, ...]:
    """Dropped manifests of runs whose restore Flink no longer lists, but for those without rows and deletes."""
    empty = {s.run for s in empty_starts(case) if s.keeps_job_id}
    dropped = case.leaked.of(LeakStanding.DROPPED) if case.leaked is not None else ()
    return tuple(leak for leak in dropped if leak.job_id not in empty and not leak.is_empty)


def forgotten(case: Case, dropped: tuple[LeakedManifest, ...]) -> Matches:
    """F3's answer where such checkpoints of one run are lost, and its restore is not listed any more."""
    job, first = dropped[0].job_id, dropped[0].checkpoint_id
    commits = [s for s in flink_commits(case.observation.table) if s.job_id == job]
    before = [s for s in commits if s.checkpoint_id is not None and s.checkpoint_id < first]
    last = commits[-1] if commits else None
    appendable = can_be_appended(case, dropped)
    return Matches(
        headline=f"The sink of run {short_job(job)} passed over {len(dropped)} completed checkpoints for good.",
        reasons=(
            in_words(dropped),
            f"The table has checkpoint {last.checkpoint_id} of that run ({short(last.snapshot_id)}), so the sink takes "
            "these for committed and will never look at them again."
            if last is not None
            else "No commit of that run is on main.",
            "Where Flink restored the run from is no longer listed; a restore from below what is committed does this.",
        ),
        rows=tuple(s.snapshot_id for s in commits if s.checkpoint_id is not None and s.checkpoint_id >= first),
        last_good=before[-1].snapshot_id if before else None,
        wrong_run=None,
        remedy=Remedy.RECOVER_LEAKED_MANIFESTS if appendable else Remedy.REPLAY_SOURCE_RANGE,
    )
