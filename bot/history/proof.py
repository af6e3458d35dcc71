"""Whether main is exactly what the job's state has read, and stays so: one proof, premise by premise.

P1 *exact*: up to a snapshot, rows were counted, and each position is there once (`counted`); each source partition is
   known to begin where its rows do.
   Of a table whose rows carry none, main has each checkpoint of the job once: each start in the window is known to have
   begun from a state that has what main had by then (P2), and between two starts the sink commits each completed
   checkpoint once. What the source itself skipped, or gave twice under other keys, does not show.
P2 *anchor*: the living run stands where the counted rows end: it has brought the highest position itself since it was
restored, or its restore point pairs with main's newest commit (`lineage`). Not by a line that goes back to a start
without state above older rows, as long as a source partition is silent since.
P3 *continuity*: above the anchor only that run has committed, its ids rising, and main lost nothing of it.
P4 *admission*: its sink takes the run's next checkpoints for new.
P5 *alone*: no other run of the job is alive.

The first premise that fails is the answer; one that cannot be shown is what is missing, with the evidence tasks that
would show it. Whether checkpoints complete (P6) is told in `bot.diagnosis.healthy`, whether files can be read (P7) in
`rightness` beside it. What lies below the window is taken for right (`base`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from bot.history.base import begun_anew, in_window, may_be_replaced_and_expired, may_have_begun_anew
from bot.history.case import Case, once_a_case
from bot.history.checkpoint_pace import empty_commits_allowed
from bot.history.counted import COUNTS, Counted, Seam
from bot.history.lineage import Lineage
from bot.history.rollbacks import gone_before, gone_between, gone_since, way_back_since
from bot.history.source_records import may_be_deleted
from bot.history.starts import came_up_at
from bot.observation.contract import why_by_key
from bot.observation.evidence import Verdict
from bot.observation.findings import DuplicatesFinding
from bot.observation.flink import CLOCKS_DIFFER, JobRun
from bot.observation.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot

ROWS = (*COUNTS, "ledger")
"""The evidence tasks that a proof rests on."""
_REPEATS = "replayed_rows"


@dataclass(frozen=True, slots=True)
class Right:
    """Main holds each row of the window once, and goes on so."""

    until: SnapshotId | None
    """Up to here rows were counted."""
    anchor: str
    """What shows where the living run stands, a sentence."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """Rows are lost or doubled, or will be."""

    reason: str
    """A sentence."""


@dataclass(frozen=True, slots=True)
class Unproven:
    """Neither is shown."""

    missing: str
    """What has to be known, a clause without a full stop."""
    asks: tuple[str, ...] = ()
    """Evidence tasks that may show it."""


Proof = Right | Wrong | Unproven


def prove(case: Case, *, is_down: bool = False) -> Proof:
    """Pure: the same case, the same answer. `is_down`: a run that is alive does not come up, and counts as none."""
    rows = Counted(case)
    if (answer := _base(case) or _exact(case, rows)) is not None:
        return answer
    jobs = case.observation.jobs
    if isinstance(jobs, NotSeen):
        return Unproven(f"{jobs.source}: {jobs.reason} {jobs.remedy}")
    alive = [run for run in case.runs if not run.is_terminal and not is_down]
    if len(alive) > 1:
        return Wrong(
            f"{len(alive)} runs of the job are alive at once: {', '.join(short_job(r.job_id) for r in alive)}."
        )
    return _anchored(Lineage(case, alive[0]), rows) if alive else _left_alone(case, rows)


def _base(case: Case) -> Wrong | Unproven | None:
    if (replaced := begun_anew(case)) is not None:
        return Wrong(replaced)
    open_still = may_have_begun_anew(case) or may_be_replaced_and_expired(case)
    return Unproven(open_still) if open_still is not None else None


# ---------------------------------------------------------------------- P1


def _exact(case: Case, rows: Counted) -> Wrong | Unproven | None:
    keys, gaps, commits = case.duplicates, case.gaps, case.duplicate_commits
    if case.contract.position is None:
        return _exact_by_commits(case, rows)
    if rows.not_answered or keys is None or gaps is None or commits is None:
        tasks = rows.not_answered or ROWS
        return Unproven(f"{', '.join(tasks)} of main as it is now", tasks)
    if keys.keys:
        return Wrong(_twice(keys))
    between = sum(gap.size for gap in rows.between_jobs)
    if (missing := gaps.missing - between) and not gaps.is_untold:
        return Wrong(f"{counted(missing, 'source position')} {'is' if missing == 1 else 'are'} missing.")
    if (begun := rows.unknown_beginning) is not None:
        partition, low = (
            case.contract.shown(*each)
            for each in ((case.contract.position_partition, begun.partition), (case.contract.position, begun.low))
        )
        return Unproven(
            f"where source partition {partition} begins: its first rows lie at position {low}, and came later than the "
            f"job's first, with {short(begun.commit)}"
        )
    if between and (undeclared := rows.of_others - rows.of_declared):
        who = _job_of(case, min(undeclared, key=case.observation.table.place_of))
        return Unproven(f"whether {who} reads the same source")
    if filled := rows.filled_by_declared:
        return Unproven(f"who was to bring {counted(filled, 'position')} that only a job of `other_jobs` has")
    if filled is None:
        return Unproven("what the job has brought itself, beside the jobs of `other_jobs`")
    return None if why_by_key(case.observation.table.properties, in_window(case)) else _once(case, rows)


def _exact_by_commits(case: Case, rows: Counted) -> Wrong | Unproven | None:
    """Of a table whose rows do not carry their source position."""
    keys = case.duplicates
    if rows.not_answered or keys is None or case.duplicate_commits is None:
        return Unproven(f"{', '.join(rows.not_answered)} of main as it is now", rows.not_answered)
    if keys.keys:
        return Wrong(_twice(keys))
    told = why_not_once(case)
    return Unproven(*told) if told is not None else _once(case, rows)


def _twice(keys: DuplicatesFinding) -> str:
    live = "lives" if keys.keys == 1 else "live"
    return f"{counted(keys.keys, 'key')} {live} more than once, {counted(keys.extra_rows, 'row')} too many."


def _holes(case: Case, rows: Counted, line: Lineage | None = None) -> Unproven | None:
    """Of positions that are not dense: whether all between two commits had no record. So it is where one start made
    both, as its source goes on without a break, and left no checkpoint out; and where the living run (`line`) began
    with all that main had below. Not where the broker has no record there any more: retention may have come first,
    also between rows of one commit."""
    kafka = case.observation.kafka
    deleted = (may_be_deleted(kafka, gap) for gap in rows.torn)
    if (torn := next((each for each in deleted if each is not None), None)) is not None:
        return Unproven(torn)
    if case.gaps is None or not case.gaps.is_untold:
        return None
    if (seams := rows.seams) is None:
        return Unproven(f"between which commits {counted(case.gaps.missing, 'position')} without a row lie")
    for seam in seams:
        if (cut := may_be_deleted(kafka, seam.gap)) is not None:
            return Unproven(cut)
        is_one = rows.is_one_start(seam.below, seam.above)
        if is_one and rows.leaves_none_out(seam.below.checkpoint_id or 0, seam.above):
            continue
        held = f"{counted(seam.gap.size, 'position')} between {short(seam.below.snapshot_id)} and "
        said = f"whether {held}{short(seam.above.snapshot_id)} had a record"
        if line is None or (told := _began_there(line, rows, seam)) is not None:
            return Unproven(said if line is None or not told else f"{said}: {told}")
    return None


def _began_there(line: Lineage, rows: Counted, seam: Seam) -> str | None:
    """What speaks against it that the living run went on where the lower commit ends, or ``; None: it did."""
    point, end = line.living.restored, line.before
    is_of_start = seam.above in line.since and end is not None and seam.below not in line.since
    if point is None or end is None or not is_of_start or not rows.leaves_none_out(point.checkpoint_id, seam.above):
        return ""
    if seam.below != end and not rows.is_one_start(seam.below, end):
        return ""
    return line.not_at_its_end(has_brought=True)


def why_no_hole(case: Case) -> str | None:
    """What has to be known of positions that are not dense, a clause; None: nothing, no record was left out between the
    commits of the window."""
    rows, alive = Counted(case), [run for run in case.runs if not run.is_terminal]
    told = _holes(case, rows, Lineage(case, alive[0]) if len(alive) == 1 else None)
    return told.missing if told is not None else None


def _job_of(case: Case, commit: SnapshotId) -> str:
    """`run z1b2c3 of backfill, which …,`, as far as Flink tells."""
    job, others = case.observation.table.by_id[commit].job_id, case.observation.others
    name = next((f" of {run.name}" for run in case.observation.undeclared if run.job_id == job), "")
    is_declared = others is not None and any(run.job_id == job for run in others.values)
    how = "began from a state that may be this job's" if is_declared else "`other_jobs` does not declare"
    return f"run {short_job(job)}{name}, which {how},"


def _once(case: Case, rows: Counted) -> Wrong | Unproven | None:
    """Whether two commits brought the same positions. Of ranges, which are bounds of files, rows have to tell."""
    repeated = case.duplicate_commits.repeated if case.duplicate_commits is not None else ()
    surely = next((each for each in repeated if each.how != "same-source-range"), None)
    if surely is not None:
        return Wrong(f"{short(surely.again)} brought again what {short(surely.first)} had brought.")
    ranges = [(each.first, each.again) for each in repeated]
    ranges += [(rows.overlap[0].commit, rows.overlap[1].commit)] if rows.overlap is not None else []
    if not ranges:
        return None
    first, again = ranges[0]
    said = f"{short(again)} brought source positions that {short(first)} had brought"
    if case.replayed is None or not all(rows.looked_at(_REPEATS, later) for _, later in ranges):
        return Unproven(f"{_REPEATS}, to tell whether rows came twice: {said}, though no key lives twice", (_REPEATS,))
    if case.replayed.replayed:
        return Unproven(f"why {counted(case.replayed.replayed, 'row')} are there again under other keys: {said}")
    return None


# ---------------------------------------------------------------------- P2 to P5


@once_a_case
def root(case: Case) -> Wrong | Unproven | None:
    """What speaks against it that the runs which are alive stand at main's end (P2), or has to be known for it,
    whatever else is open; None: they do. Rows that were not counted yet show nothing. Where no run is alive and rows
    could not be counted, the newest one is asked in the same way."""
    if isinstance(case.observation.jobs, NotSeen):
        return None
    rows = Counted(case)
    alive = [run for run in case.runs if not run.is_terminal]
    is_open = not alive and isinstance(_exact(case, rows), Unproven)
    for run in alive or (sorted(case.runs, key=came_up_at)[-1:] if is_open else ()):
        line = Lineage(case, run)
        told = _goes_on(line, rows) or _stands(line, rows)
        if isinstance(told, Unproven):
            return Unproven(told.missing, (rows.not_answered or told.asks) if told.asks else ())
        if isinstance(told, Wrong):
            return told
    return None


def exact(case: Case) -> Wrong | Unproven | None:
    """What speaks against it that each position of the window is there once (P1), or has to be known for it, whoever
    writes; None: each is."""
    told = _base(case) or _exact(case, Counted(case))
    if told is None and (hole := why_no_hole(case)) is not None:
        return Unproven(hole)
    return told


def is_exact(case: Case, run: JobId) -> bool:
    """Whether rows were counted and are there once (P1), and the run had brought all its rows by then, or the highest
    position."""
    rows = Counted(case)
    is_untold = case.gaps is not None and case.gaps.is_untold
    if is_untold or (_base(case) or _exact(case, rows)) is not None:
        return False
    brought = [s for s in case.observation.table.of_flink if s.job_id == run and s.adds_rows]
    seen = [s for s in brought if rows.has(s)]
    return seen == brought or (bool(rows.tops) and rows.reached_by(seen) == rows.tops)


def _anchored(line: Lineage, rows: Counted) -> Proof:
    run = line.living
    if not run.is_settled:
        return Unproven(f"how run {short_job(run.job_id)} goes on: it is not settled")
    if line.other_jobs.is_untold:
        return Unproven("which of the jobs that write the table is this one")
    return _holes(line.case, rows, line) or _continues(line, rows) or _stands(line, rows)


def _stands(line: Lineage, rows: Counted) -> Proof:
    """P2 and P4."""
    run = line.living
    if (began := _over_older_rows(line, rows)) is not None:
        return Unproven(began)
    brought = [commit for commit in line.since if commit.adds_rows]
    seen = [commit for commit in brought if rows.has(commit)] if not rows.not_answered else []
    if (told := _by_position(line, rows, seen)) is not None:
        return told
    if line.is_untold:
        return Unproven(f"which commits of run {short_job(run.job_id)} came before it was restored: the clocks differ")
    if seen and line.is_only_run and line.case.contract.position_partition is None:
        return Right(rows.until, f"All commits of the job that are listed are of run {short_job(run.job_id)}.")
    if (behind := line.not_at_its_end(has_brought=bool(seen))) is not None:
        return Unproven(behind, ROWS if brought else ())
    if not seen and (answer := _refused(line) or _below_the_top(line, rows)) is not None:
        return answer
    return Right(rows.until, f"Run {short_job(run.job_id)} began where main ended: {line.whence}.")


def _over_older_rows(line: Lineage, rows: Counted) -> str | None:
    """What has to be known where the state goes back to a start without state above older rows, a clause. In a single
    source partition rows show where that began; in one of several, where it has brought rows since. None: nothing."""
    contract, table, named = line.case.contract, line.table, line.case.contract.position_partition
    if (contract.position is not None and named is None) or (start := line.empty_start) is None or not table.chain:
        return None
    run, first = start
    edge = table.place_of(first.snapshot_id) if first is not None else len(table.snapshots)
    older = [s for s in line.own if s.adds_rows and table.place_of(s.snapshot_id) < edge]
    said, root = f"where in the source run {short_job(run)} began: it started without state", table.chain[-1]
    number = (first.checkpoint_id or 1) if first is not None and not older else 1
    is_first = number <= empty_commits_allowed(table.properties) + 1  # else it has commits below the window, too
    if root.has_commit_below and is_first and max(gone_before(root, table), 1) >= number:
        return f"{said} above commits that have expired"
    if older and (named is None or not all(rows.spans_of(each) for each in older)):
        return f"{said} above {short(older[-1].snapshot_id)}"
    below, since = {s.snapshot_id for s in older}, {s.partition for s in rows.spans if table.place_of(s.commit) >= edge}
    silent = next((s.partition for s in rows.spans if s.commit in below and s.partition not in since), None)
    if silent is None:
        return None
    return f"{said}, and has brought no row of source partition {contract.shown(named, silent)}"


def _by_position(line: Lineage, rows: Counted, seen: Sequence[Snapshot]) -> Proof | None:
    """Where the living run stands by the rows that it has brought itself; None: that is not known."""
    who, reached = f"run {short_job(line.living.job_id)}", rows.reached_by(seen)
    gaps, contract = line.case.gaps, line.case.contract
    if gaps is not None and gaps.to_come and not any(commit.adds_rows for commit in line.table.rolled_back):
        return Unproven(f"who reads {counted(gaps.to_come, 'position')} again that main had and lost")
    if contract.position_partition is not None and (dropped := _refused(line)) is not None:
        return dropped
    if rows.tops and reached == rows.tops:
        return Right(rows.until, f"Run {short_job(line.living.job_id)} brought main's highest source position itself.")
    for partition, high in reached.items():
        if high < rows.tops.get(partition, high):
            shown = [contract.shown(contract.position, each) for each in (high, rows.tops[partition])]
            behind = f"{who} has come to {shown[0]}, and main has rows up to {shown[1]}"
            return Unproven(f"whether rows are repeated: {behind}", ROWS)
    return None


def _continues(line: Lineage, rows: Counted) -> Wrong | Unproven | None:
    """P3."""
    table, since = line.table, line.since
    mine = {commit.snapshot_id for commit in since}
    for commit in _above(table.chain, rows):
        if commit.snapshot_id not in mine and not line.other_jobs.has(commit):
            return Unproven(f"what {short(commit.snapshot_id)} changed, which came after rows were counted", ROWS)
    if (skipped := _skips(line, rows)) is not None:
        return skipped
    if (broken := _goes_on(line, rows)) is not None:
        return broken
    if (anchor := _anchor(line, rows)) is None:
        return None
    if gone := gone_since(anchor, table):
        snapshots = counted(gone, "snapshot")
        return Unproven(f"whether main had {snapshots} newer than {short(anchor.snapshot_id)}, which have expired")
    if (back := way_back_since(anchor, table)) is not None:
        return Unproven(f"what main lost when it came back to {short(back.snapshot_id)}: it has expired")
    return None


def _goes_on(line: Lineage, rows: Counted) -> Wrong | None:
    """Whether the run's ids rise, and main has kept what it brought since the newest commit that was counted."""
    table, run, anchor = line.table, line.living, _anchor(line, rows)
    pairs = (pair for of_sink in _by_sink(line.since) for pair in pairwise(of_sink))
    if any((later.checkpoint_id or 0) <= (earlier.checkpoint_id or 0) for earlier, later in pairs):
        return Wrong(f"The checkpoint ids that run {short_job(run.job_id)} committed do not rise.")
    for lost in line.lost:
        if anchor is None or table.place_of(lost.snapshot_id) > table.place_of(anchor.snapshot_id):
            return Wrong(f"Main lost {short(lost.snapshot_id)} while run {short_job(run.job_id)} was running.")
    return None


def _anchor(line: Lineage, rows: Counted) -> Snapshot | None:
    """The run's newest commit with rows that was counted."""
    return next((commit for commit in reversed(line.since) if commit.adds_rows and rows.has(commit)), None)


def _skips(line: Lineage, rows: Counted) -> Unproven | None:
    """Whether a newer commit of the living run leaves positions out: its source may have lost records before it read
    them. Where the ledger does not list such a commit yet, it is asked for, but not again at once."""
    if line.case.contract.position is None:
        return None
    newer = [commit for commit in line.since if commit.adds_rows and not rows.has(commit)]
    tops, is_dense, last = dict(rows.tops), rows.is_dense, _anchor(line, rows)
    for commit in newer:
        spans = rows.spans_of(commit)
        goes_on = last is not None and rows.leaves_none_out(last.checkpoint_id or 0, commit)
        if spans is None:
            if rows.is_ledger_old:
                return Unproven(
                    f"what {short(commit.snapshot_id)} brought, which the ledger does not list", ("ledger",)
                )
            return None
        for span in sorted(spans, key=lambda span: span.low):
            is_apart = span.partition in tops and span.low > tops[span.partition] + 1
            if (is_dense and (span.has_holes or is_apart)) or (is_apart and not goes_on):
                return Unproven(f"whether positions are missing in {short(commit.snapshot_id)}, or below it", ROWS)
            tops[span.partition] = max(span.high, tops.get(span.partition, span.high))
    return None


def _above(chain: Iterable[Snapshot], rows: Counted) -> list[Snapshot]:
    """Commits above what was counted that may have changed which rows live, newest first."""
    newer = takewhile(lambda commit: not rows.has(commit), chain)
    return [commit for commit in newer if commit.adds_rows or commit.operation not in {"append", "replace"}]


def _refused(line: Lineage) -> Wrong | Unproven | None:
    """P4: a sink compares the next ids with the highest that main has of the run, and drops what is not above it. What
    it has dropped of a partition that is silent since leaves no hole."""
    run, point = line.living, line.living.restored
    began = point.checkpoint_id if point is not None else 0
    since = {commit.snapshot_id for commit in line.since}
    own = [s for s in line.table.snapshots if s.job_id == run.job_id and s.snapshot_id not in since]
    used = max((commit.checkpoint_id or 0 for commit in own), default=0)
    if used <= began:
        return None
    if used == DRAINED:
        return Wrong(f"Run {short_job(run.job_id)} has a drained commit, above which its sink commits nothing.")
    on_main = any(s.checkpoint_id == used and s.snapshot_id in line.table.chain_ids for s in own)
    if on_main and not line.since:
        return Wrong(f"The sink of run {short_job(run.job_id)} takes checkpoints up to {used} for committed.")
    if run.completed_count or run.checkpoints:
        return Unproven(
            f"whether run {short_job(run.job_id)} had rows in checkpoints up to {used}, which its sink dropped"
        )
    return None


def _below_the_top(line: Lineage, rows: Counted) -> Wrong | Unproven | None:
    """Whether main's newest commit, which the state has behind it, brought the highest position. It need not where
    others bring rows, or take some."""
    end, table = line.before, line.table
    if end is None:
        return None
    reached = rows.reached_by([end])
    if len(rows.tops) == 1 and reached.keys() == rows.tops.keys():
        (high,), (top,) = reached.values(), rows.tops.values()
        if high == top:
            return None
        contract = line.case.contract
        read, there = (contract.shown(contract.position, each) for each in (high, top))
        return Wrong(f"The state of run {short_job(line.living.job_id)} has read up to {read}, and main has {there}.")
    place = table.place_of(end.snapshot_id)
    for other in (commit for commit in table.chain if commit.job_id is None and commit.operation != "replace"):
        is_above = table.place_of(other.snapshot_id) > place and other.adds_rows
        if is_above or other.operation in {"overwrite", "delete"} or other.is_pick:
            what = f"{short(other.snapshot_id)} brought a higher position than {short(end.snapshot_id)}"
            return Unproven(f"whether {what}, which is from before the window")
    return None


def _left_alone(case: Case, rows: Counted) -> Proof:
    """No run of the job is alive: main is as the last one left it."""
    if (untold := _holes(case, rows)) is not None:
        return untold
    above = _above(case.observation.table.chain, rows)
    if above:
        return Unproven(f"what {counted(len(above), 'commit')} changed that came after rows were counted", ROWS)
    newest = next((s for s in reversed(case.observation.table.of_flink) if s.adds_rows), None)
    if newest is not None and (gone := gone_since(newest, case.observation.table)):
        snapshots = counted(gone, "snapshot")
        return Unproven(f"whether main had {snapshots} newer than {short(newest.snapshot_id)}, which have expired")
    lost = any(commit.adds_rows for commit in case.observation.table.rolled_back)
    if case.gaps is not None and not case.gaps.has_positions and lost:
        return Unproven("who reads the rows again that main had and lost: no run of the job is alive")
    if case.gaps is not None and case.gaps.to_come:
        positions = counted(case.gaps.to_come, "position")
        return Unproven(f"who reads {positions} again that main had and lost: no run of the job is alive")
    return Right(rows.until, "No run of the job is alive.")


ASKS = ("leaked_manifests",)
"""What it rests on beside keys and repeated commits."""


@once_a_case
def why_not_once(case: Case) -> tuple[str, tuple[str, ...]] | None:
    """What has to be known, a clause, and the evidence tasks that may tell; None: main has each checkpoint once."""
    jobs = case.observation.jobs
    if isinstance(jobs, NotSeen):
        return f"{jobs.source}: {jobs.reason} {jobs.remedy}", ()
    if (waits := _left_out(case)) is not None:
        return waits
    commits = [s for s in in_window(case) if s.job_id is not None and s.checkpoint_id is not None]
    table, since = case.observation.table, case.window.since
    begins = table.by_id.get(since) if since is not None else next(iter(commits), None)
    if since is not None and begins is None:
        return f"what main had since {short(since)}, where the window begins: that commit has expired", ()
    if begins is not None and (gone := gone_since(begins, table)):
        return f"what {counted(gone, 'snapshot')} newer than {short(begins.snapshot_id)} had: all that has expired", ()
    if begins is not None and (back := way_back_since(begins, table)) is not None:
        return f"what main lost when it came back to {short(back.snapshot_id)}: it has expired", ()
    for run in (each for each in case.runs if not each.is_terminal and each.restored is not None):
        if not Lineage(case, run).since:
            return f"whether the sink of run {short_job(run.job_id)} commits: it has not since it was restored", ()
    for run_id in dict.fromkeys(s.job_id for s in commits if s.job_id is not None):
        mine = [s for s in commits if s.job_id == run_id]
        if (told := _of_run(case, run_id, mine)) is not None:
            return told, ()
    return None


def _left_out(case: Case) -> tuple[str, tuple[str, ...]] | None:
    """Rows that were written, and that main has not, or has lost."""
    latest = next((each for each in reversed(case.evidence) if each.task == ASKS[0]), None)
    is_open = latest is not None and latest.verdict is Verdict.INCONCLUSIVE
    if case.leaked is None or is_open:
        return "which Flink manifests were left without a commit", ASKS
    if leak := next((each for each in case.leaked.left_out if not each.is_empty), None):
        return f"whether the rows of Flink manifest {leak.name} were read again", ()
    inside = {s.snapshot_id for s in case.window.of(case.observation.table)}
    for lost in case.observation.table.rolled_back:
        if lost.adds_rows and lost.snapshot_id in inside:
            return f"whether the rows of {short(lost.snapshot_id)}, which main has lost, were read again", ()
    return None


def _of_run(case: Case, run_id: JobId, mine: Sequence[Snapshot]) -> str | None:
    """Whether the run's commits of the window are of starts that are known, and follow each other."""
    who, run = f"run {short_job(run_id)}", next((each for each in case.runs if each.job_id == run_id), None)
    if run is None:
        return f"where {who} began: Flink does not list it"
    if run.may_lose_in_flight:
        return f"whether {who} lost rows in flight: it writes with the V1 sink under unaligned checkpoints"
    if run.restored_count > 1 or run.started_at > mine[0].committed_at:
        return f"how often {who} was restored: Flink shows the newest restore only"
    for earlier, later in (pair for of_sink in _by_sink(mine) for pair in pairwise(of_sink)):
        above = later.checkpoint_id or CheckpointId(0)
        if gone := gone_between(earlier, above, case.observation.table, case.observation.jobs):
            return f"whether commits are gone: {gone.rstrip('.')}"
    return _began_at_end(case, run, mine)


def _began_at_end(case: Case, run: JobRun, mine: Sequence[Snapshot]) -> str | None:
    """Whether the state that the run came up with has what main had by then; of main as it was at the run's end."""
    table, newest = case.observation.table, mine[-1]
    base = table.by_id.get(case.window.since) if case.window.since is not None else None
    if base is not None and came_up_at(run) < base.committed_at - CLOCKS_DIFFER:
        return None  # it was at work below the window, which is taken for right
    moves = [move for move in table.head_moves if move.at <= newest.committed_at]
    then = case.observation.model_copy(update={"table": table.as_of(newest.snapshot_id, moves)})
    line = Lineage(case.model_copy(update={"observation": then}), run)
    if line.is_untold:
        return f"which commits of run {short_job(run.job_id)} came before it was restored: the clocks differ"
    return line.not_at_its_end(has_brought=any(s.adds_rows for s in line.since))


def _by_sink(commits: Sequence[Snapshot]) -> Iterator[list[Snapshot]]:
    sinks: dict[OperatorId | None, list[Snapshot]] = {}
    for commit in commits:
        sinks.setdefault(commit.operator_id, []).append(commit)
    yield from sinks.values()
