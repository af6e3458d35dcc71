"""What a start of the job from one restore point would do to a table as its main is now: `predict`, the one answer.

A restored run has a new job id, so its sink finds no newest checkpoint of its own in the table: whatever main has from
after the restore point is committed a second time, and what main has lost below it is never committed again.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from pydantic import Field

from bot.domain.contract import why_by_key
from bot.domain.diagnosis import Case
from bot.domain.findings import Pairing, PairVerdict
from bot.domain.flink import CheckpointKind, RememberedStart, StoredCheckpoint, names_run
from bot.domain.guests import Guests, commits_that_bind
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId, TableName, short_job
from bot.domain.looked import NotSeen
from bot.domain.other_writers import brings_nothing
from bot.domain.own_points import EndOfMain, brought_again, told_apart
from bot.domain.pairing import owed_checkpoints, pairing
from bot.domain.record import Record, Utc
from bot.domain.recovery_deadline import records_lost
from bot.domain.restore_points import began_with, idle_point, is_of_another_start, missing_manifests
from bot.domain.run_commits import CommitsByRun
from bot.domain.sentences import counted
from bot.domain.table import Snapshot, TableState
from bot.domain.trust import ExactId

_NAMED = 50
_MAY_BE_BACK = "A repair or cherry-pick on main may have brought its rows back."


class RestoreVerdict(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"
    CANNOT_TELL = "cannot-tell"


class Extent(Record):
    """Commits whose rows a start would write a second time, or would never bring back."""

    rows: int = Field(description="Their rows, by the counts of the commits.")
    is_at_most: bool = Field(description="Whether it may be fewer rows: some may be there twice, or are not concerned.")
    commits: int = Field(description="How many commits they are.")
    first_checkpoint: CheckpointId | None = Field(description="Of the oldest of these commits; null: it names none.")
    last_checkpoint: CheckpointId | None = Field(description="Of the newest of them.")
    runs: tuple[JobId, ...] = Field(description="The Flink runs that made them.")
    snapshots: tuple[ExactId, ...] = Field(description=f"The commits, oldest first, at most {_NAMED}.")


class RestorePrediction(Record):
    """What a start would do to one table."""

    table: TableName = Field(description="namespace.table.")
    verdict: RestoreVerdict = Field(description="right, wrong or cannot-tell.")
    reason: str = Field(description="Why, in sentences.")
    repeated: Extent | None = Field(default=None, description="What the job would write a second time; null: nothing.")
    lost: Extent | None = Field(default=None, description="What main lacks and the job would not write again.")
    lost_for_good: tuple[str, ...] = Field(
        default=(), description="Ranges of records that the start needs and Kafka has deleted."
    )
    fails: str | None = Field(default=None, description="Why the job would not come up, or would never commit.")
    would_decide: str | None = Field(default=None, description="What would decide it; null where it is decided.")


class RestoreCheck(Record):
    """Whether a start of a table's Flink job from one path is right for what is on main now."""

    table: TableName = Field(description="The table that was asked about.")
    job: str | None = Field(description="Its Flink job; null where none is configured.")
    path: str = Field(description="The restore point, as it was asked for.")
    verdict: RestoreVerdict = Field(
        description="right: every table of the job goes on exactly-once. wrong: one does not. cannot-tell: neither."
    )
    reason: str = Field(description="Why, in sentences.")
    would_decide: str | None = Field(default=None, description="What would decide it; null where it is decided.")
    kind: CheckpointKind | None = Field(default=None, description="What the path holds; null: it was not read.")
    checkpoint: CheckpointId | None = Field(default=None, description="Its checkpoint id.")
    run: JobId | None = Field(default=None, description="The Flink run that wrote it.")
    written_at: Utc | None = Field(default=None, description="When its _metadata was written.")
    alive: tuple[JobId, ...] = Field(default=(), description="Runs of the job that have not ended.")
    tables: tuple[RestorePrediction, ...] = Field(
        default=(), description="Each table of the job; the one that was asked about comes first."
    )
    not_seen: tuple[str, ...] = Field(default=(), description="What could not be looked at, a sentence each.")
    instead: str | None = Field(
        default=None, description="Where it is wrong: the newest path on storage that is right; null: none is known."
    )
    checked_at: Utc = Field(description="When it was looked at; a later commit may change the answer.")


def predict(stored: StoredCheckpoint, main: Case) -> RestorePrediction:
    """What a start from `stored` would do to the table of `main`, whose observation names `stored` among its restore
    points. Right only where it is proven by metadata, Flink's state and the runs that Flink lists."""
    return _Start(stored, main).predicted()


def combined(found: Sequence[RestorePrediction], alive: Sequence[JobId]) -> tuple[RestoreVerdict, str, str | None]:
    """(Verdict, reason, what would decide) of all tables of the job together. A run that has not ended leaves it open:
    it goes on committing, and a second one beside it repeats its rows."""
    for verdict in (RestoreVerdict.WRONG, RestoreVerdict.CANNOT_TELL):
        told = [each for each in found if each.verdict is verdict]
        if told:
            reason = " ".join(f"{each.table}: {each.reason}" for each in told)
            return verdict, reason, " ".join(each.would_decide for each in told if each.would_decide) or None
    if alive:
        runs = ", ".join(map(short_job, alive))
        are = "is" if len(alive) == 1 else "are"
        return (
            RestoreVerdict.CANNOT_TELL,
            f"The path fits main as it is now, but run {runs} of the job {are} still alive. It commits further, and "
            "a second run beside it would write every row twice.",
            "Stop the job with a savepoint, and check that savepoint.",
        )
    return RestoreVerdict.RIGHT, " ".join(f"{each.table}: {each.reason}" for each in found), None


class _Start:
    def __init__(self, stored: StoredCheckpoint, main: Case) -> None:
        self._stored, self._main, self._seen = stored, main, main.observation
        self._table: TableState = main.observation.table
        self._commits = CommitsByRun(self._table, self._seen.jobs.values)
        self._met = pairing(stored, self._table, self._seen.jobs)
        self._pair: Pairing = told_apart((self._met,), main)[0]

    def predicted(self) -> RestorePrediction:
        ways: dict[PairVerdict, Callable[[], RestorePrediction]] = {
            PairVerdict.UNREADABLE: lambda: self._open(self._pair.reason, "Make its _metadata readable here."),
            PairVerdict.FOREIGN: lambda: self._wrong(f"{self._pair.reason} The state is not this job's."),
            PairVerdict.PAIRED: self._paired,
            PairVerdict.AHEAD: self._ahead,
            PairVerdict.BEHIND: self._behind,
            PairVerdict.UNPAIRABLE: self._unpaired,
        }
        found = ways[self._pair.verdict]()
        for further in (self._held_against_lost_commits, self._held_against_the_source):
            if found.verdict is RestoreVerdict.RIGHT:
                found = further(found)
        return found

    def _paired(self) -> RestorePrediction:
        """Under one job id an earlier start may have left a state with the id of a later start's commit (F14)."""
        commit = self._table.by_id.get(self._pair.snapshot_id) if self._pair.snapshot_id is not None else None
        if commit is not None and is_of_another_start(self._stored, commit, self._main):
            return self._open(
                f"{self._pair.reason} But this state does not hold what that commit brought: it may be of an earlier "
                "start under the same job id.",
                self._diagnose,
            )
        return self._from_state(self._pair.snapshot_id)

    def _from_state(self, state: SnapshotId | None) -> RestorePrediction:
        """The state pairs with this snapshot: what main has beyond it is repeated, what main has lost of it is lost."""
        line = list(self._table.ancestors(state))
        held = {s.snapshot_id for s in line}
        after = [
            s
            for s in commits_that_bind(self._main)
            if s.snapshot_id not in held and not self._is_copy(s, line[0]) and not brings_nothing(self._table, s)
        ]
        aside = [s for s in line if s.snapshot_id not in self._table.chain_ids and s.job_id is not None]
        lost = [s for s in aside if not self._is_back(s)]
        if lost and self._may_be_repaired(lost[-1]):
            return self._open(f"{self._pair.reason} {_MAY_BE_BACK}", self._diagnose)
        repair = self._table.by_id.get(self._pair.brings_again) if self._pair.brings_again is not None else None
        if not after and not lost and repair is None:
            return self._right(self._pair.reason)
        return self._wrong(
            self._pair.reason,
            repeated=self._extent([*after, *([repair] if repair is not None else [])]),
            lost=self._extent(lost[::-1]),
        )

    def _is_copy(self, commit: Snapshot, state: Snapshot) -> bool:
        """Whether it brought what `state` had brought, once more: put back, or committed twice (F1). Under one job id
        another start may have made a commit of the same checkpoint (F14)."""
        if (commit.job_id, commit.checkpoint_id) != (state.job_id, state.checkpoint_id):
            return False
        is_twice = state.snapshot_id in self._table.chain_ids and all(
            commit.counted(key) == state.counted(key) for key in ("added-records", "added-data-files")
        )
        return commit.is_repair or is_twice

    def _ahead(self) -> RestorePrediction:
        """Newer than any commit of its run: the sink first commits what the state holds."""
        run, end = self._stored.job_id, EndOfMain(self._main)
        if not end.is_of(run):
            lost = end.lost(run) if run is not None else ()
            own = [self._table.place_of(s.snapshot_id) for s in self._table.of_flink if s.job_id == run]
            others = (s for s in commits_that_bind(self._main) if s.job_id != run)
            after = [s for s in others if self._table.place_of(s.snapshot_id) > max(own, default=-1)]
            if not lost and not after:
                return self._open(self._pair.reason, self._diagnose)
            return self._wrong(self._pair.reason, repeated=self._extent(after), lost=self._extent(lost))
        if not self._stored.is_committer_read:
            return self._open(self._pair.reason, "Make the state files beside its _metadata readable here.")
        if isinstance(self._seen.flink_manifests, NotSeen):
            return self._open(
                f"{self._pair.reason} {self._seen.flink_manifests.source} could not be read: "
                f"{self._seen.flink_manifests.reason}",
                self._seen.flink_manifests.remedy,
            )
        return self._right(f"{self._pair.reason} Start it with the same uid of the sink, or these files are lost.")

    def _behind(self) -> RestorePrediction:
        if self._met.verdict is PairVerdict.AHEAD:  # a repair has brought what it would commit
            repair = brought_again(self._stored, None, self._commits)
            return self._wrong(self._pair.reason, repeated=self._extent([repair] if repair is not None else []))
        of_start = self._commits.of(self._stored).life_of(self._stored)
        checkpoint = self._stored.checkpoint_id
        is_drained = of_start is not None and checkpoint is not None and of_start.is_drained
        if self._stored.is_drained or (is_drained and of_start.above(checkpoint) is None):  # type: ignore[union-attr,arg-type]
            return self._wrong(self._pair.reason, fails="The sink would never commit again.")
        commits = commits_that_bind(self._main)
        later = [n for n, s in enumerate(commits) if s.job_id == self._stored.job_id and _is_above(s, checkpoint)]
        if not later:
            gone = missing_manifests(self._seen, self._stored)
            return self._fails(gone) if gone else self._open(self._pair.reason, self._diagnose)
        extent = self._extent(commits[later[0] :])
        at_most = extent.model_copy(update={"is_at_most": True}) if extent is not None else None
        return self._wrong(self._pair.reason, repeated=at_most)

    def _unpaired(self) -> RestorePrediction:
        """Of a run without a commit here it may be known that it began where main ends."""
        stored, run = self._stored, next((r for r in self._main.runs if r.job_id == self._stored.job_id), None)
        owes_nothing = stored.is_committer_read and owed_checkpoints(stored, self._table) == ()
        if owes_nothing and not self._table.snapshots and self._table.last_sequence_number == 0:
            return self._right("The table has never had a commit, and the state owes it nothing.")
        below = began_with(self._main, run) if run is not None else None
        state = below.snapshot_id if below is not None else None
        point = idle_point(stored, self._pair, self._table, state, self._main.runs)
        if point is not None:
            found = self._from_state(point.snapshot_id)
            told = f"Run {short_job(stored.job_id)} has committed nothing here since it began where that commit ends."
            return found.model_copy(update={"reason": told})
        return self._open(
            f"{self._pair.reason} It may be the state of another job, or of a run whose commits have expired.",
            f"Find out which job wrote it: `waterline evidence checkpoint_pairing {self._table.name}` lists the job's "
            "restore points.",
        )

    def _held_against_lost_commits(self, found: RestorePrediction) -> RestorePrediction:
        """What would fit, unless its state holds commits that main has lost since: nobody writes those again."""
        lost = [s for s in self._table.rolled_back if s.job_id is not None and not self._is_back(s)]
        guests = Guests(self._main) if lost else None
        lost = [s for s in lost if guests is not None and not guests.has_run(s.job_id)]
        reached, is_whole = self._path() if lost else ({}, True)
        held = [s for s in lost if (s.checkpoint_id or 0) <= reached.get(s.job_id or JobId(""), -1)]
        if held:
            if self._may_be_repaired(held[0]):
                return self._open(f"{found.reason} {_MAY_BE_BACK}", self._diagnose)
            return self._wrong("Main was rolled back below commits that this state holds", lost=self._extent(held))
        others = [s for s in lost if s.job_id not in reached and not is_whole]
        if not others:
            return found
        return self._open(
            f"{found.reason} But main was rolled back below {counted(len(others), 'commit')} of run "
            f"{short_job(others[0].job_id)}, and whether this state goes back to that run is not known.",
            "Let Flink or its history server show from where each run of the job was started.",
        )

    def _path(self) -> tuple[dict[JobId, CheckpointId], bool]:
        """(Run -> the checkpoint up to which the state goes back to it, whether that is all of them)."""
        began = {start.job_id: start.restored for start in self._seen.remembered if not _is_of_its_own(start)}
        began |= {run.job_id: run.restored for run in self._main.runs if run.job_id not in began}
        commits = {s.job_id for s in self._table.snapshots if s.job_id is not None}
        reached: dict[JobId, CheckpointId] = {}
        job, checkpoint = self._stored.job_id, self._stored.checkpoint_id
        while job is not None and checkpoint is not None and job not in reached:
            reached[job] = checkpoint
            if job not in began:
                return reached, False
            point = began[job]
            if point is None:
                return reached, True
            wrote = [each for each in {*began, *commits} if each != job and names_run(point.path, each)]
            job, checkpoint = (wrote[0] if len(wrote) == 1 else None), point.checkpoint_id
        return reached, False

    def _is_back(self, commit: Snapshot) -> bool:
        """Whether main holds the rows of a commit that it lost: under the same keys, or by a repair that names them."""
        if (commit.job_id, commit.operator_id, commit.checkpoint_id) in self._on_main:
            return True
        ranges = (repair.recovered.get(commit.job_id) for repair in self._table.recovering if commit.job_id)
        return any(told is not None and told[0] <= (commit.checkpoint_id or 0) <= told[1] for told in ranges)

    def _may_be_repaired(self, oldest: Snapshot) -> bool:
        place = self._table.place_of(oldest.snapshot_id)
        return any(self._table.place_of(repair.snapshot_id) > place for repair in self._table.recovering)

    @cached_property
    def _on_main(self) -> frozenset[tuple[JobId | None, OperatorId | None, CheckpointId | None]]:
        return frozenset((s.job_id, s.operator_id, s.checkpoint_id) for s in self._table.of_flink)

    def _held_against_the_source(self, found: RestorePrediction) -> RestorePrediction:
        """What would fit, unless what it needs is gone from storage or from Kafka."""
        if gone := missing_manifests(self._seen, self._stored):
            return self._fails(gone)
        lost = records_lost(self._main, self._stored)
        if not lost:
            return found
        reason = f"It fits main, but Kafka has deleted records that the job has yet to read: {'; '.join(lost)}."
        return self._wrong(reason).model_copy(update={"lost_for_good": lost})

    @property
    def _diagnose(self) -> str:
        return f"Run `waterline diagnose {self._table.name}`."

    def _extent(self, commits: Sequence[Snapshot]) -> Extent | None:
        if not commits:
            return None
        numbers = [s.checkpoint_id for s in commits if s.checkpoint_id is not None]
        return Extent(
            rows=sum(s.counted("added-records") for s in commits),
            is_at_most=not self._is_exact(commits),
            commits=len(commits),
            first_checkpoint=numbers[0] if numbers else None,
            last_checkpoint=numbers[-1] if numbers else None,
            runs=tuple(dict.fromkeys(s.job_id for s in commits if s.job_id is not None)),
            snapshots=tuple(s.snapshot_id for s in commits[:_NAMED]),
        )

    def _is_exact(self, commits: Sequence[Snapshot]) -> bool:
        """Of one run, each later checkpoint once, and of which nobody took rows since. What is repeated may be less
        where another run than the point's made it: that one may have begun further down."""
        numbers, runs = [s.checkpoint_id or 0 for s in commits], {s.job_id for s in commits}
        if len(runs) > 1 or any(b <= a for a, b in pairwise(numbers)):
            return False
        if commits[0].snapshot_id not in self._table.chain_ids:
            return True
        if runs != {self._stored.job_id}:
            return False
        oldest = self._table.place_of(commits[0].snapshot_id)
        above = (s for s in self._table.chain if self._table.place_of(s.snapshot_id) > oldest)
        return not any(s.operation != "replace" and s.counted("deleted-records") for s in above)

    def _fails(self, gone: Sequence[str]) -> RestorePrediction:
        files = counted(len(gone), "Flink manifest")
        are = "is" if len(gone) == 1 else "are"
        told = f"The sink would first commit {files} that {are} gone from storage, so the job would fail at each start."
        return self._wrong(told, fails=told)

    def _right(self, reason: str) -> RestorePrediction:
        return RestorePrediction(table=self._table.name, verdict=RestoreVerdict.RIGHT, reason=reason)

    def _open(self, reason: str, would_decide: str) -> RestorePrediction:
        return RestorePrediction(
            table=self._table.name, verdict=RestoreVerdict.CANNOT_TELL, reason=reason, would_decide=would_decide
        )

    def _wrong(
        self, reason: str, *, repeated: Extent | None = None, lost: Extent | None = None, fails: str | None = None
    ) -> RestorePrediction:
        said = [reason.rstrip(".") + "."]
        if repeated is not None:
            said.append(f"A start would write {extent_in_words(repeated)} a second time.")
            snapshots = (self._table.by_id[SnapshotId(each)] for each in repeated.snapshots)
            if why_by_key(self._table.properties, snapshots) is not None:
                said.append("The job writes by key: until it has passed these rows again, readers see older values.")
        if lost is not None:
            said.append(f"The table lacks {extent_in_words(lost)}, which the job would not write again.")
        return RestorePrediction(
            table=self._table.name,
            verdict=RestoreVerdict.WRONG,
            reason=" ".join(said),
            repeated=repeated,
            lost=lost,
            fails=fails,
        )


def extent_in_words(extent: Extent) -> str:
    """`30 rows of 3 commits, checkpoints 6 to 8 of run b92e04`."""
    rows = f"{'at most ' if extent.is_at_most else ''}{counted(extent.rows, 'row')}"
    first, last = extent.first_checkpoint, extent.last_checkpoint
    which = ""
    if first is not None:
        of = f" of run {' and '.join(map(short_job, extent.runs))}" if extent.runs else ""
        which = f", checkpoint {first}{of}" if first == last else f", checkpoints {first} to {last}{of}"
    return f"{rows} of {counted(extent.commits, 'commit')}{which}"


def _is_above(commit: Snapshot, checkpoint: CheckpointId | None) -> bool:
    return commit.checkpoint_id is not None and checkpoint is not None and commit.checkpoint_id > checkpoint


def _is_of_its_own(start: RememberedStart) -> bool:
    """Whether it is a restart of a run that had begun before."""
    return start.restored is not None and names_run(start.restored.path, start.job_id)


def right_ones(points: Iterable[StoredCheckpoint], tables: Sequence[Case]) -> Iterable[StoredCheckpoint]:
    """Those from which every one of the job's tables goes on right, in their order."""
    for each in points:
        if all(predict(each, table).verdict is RestoreVerdict.RIGHT for table in tables):
            yield each
