"""What a start of the job from one restore point would do to a table, and to all tables of the job: `predict`. Pure.

Whatever main has that the state does not hold (`restore`) is written a second time, and what main has lost of it never
comes back. Files that the state still owes are committed first, and the job fails for want of one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from pydantic import Field

from bot.history.ancestry import Ancestry, ancestry_of
from bot.history.case import Case
from bot.history.other_writers import brings_nothing, described_by, keeps_its_rows
from bot.history.restore import RestorePoint, Restores
from bot.history.source_records import records_lost
from bot.observation.contract import why_by_key
from bot.observation.findings import Pairing, PairVerdict
from bot.observation.flink import CheckpointKind, StoredCheckpoint, owed_checkpoints
from bot.observation.ids import CheckpointId, ExactId, JobId, OperatorId, SnapshotId, TableName, short_job
from bot.observation.ledger import SourceRange
from bot.observation.looked import NotSeen
from bot.observation.record import Record, Utc
from bot.observation.sentences import counted
from bot.observation.table import Snapshot

_MAY_BE_BACK = "A repair or cherry-pick on main may have brought its rows back."
MOST_NAMED = 50
"""So many commits of an extent are named."""


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
    snapshots: tuple[ExactId, ...] = Field(description=f"The commits, oldest first, at most {MOST_NAMED}.")
    ranges: tuple[SourceRange, ...] = Field(
        default=(), description="Source positions of these rows, by partition; empty where they are not all known."
    )


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


def predict(stored: StoredCheckpoint, main: Case | Restores, until: datetime | None = None) -> RestorePrediction:
    """What a start from `stored` would do to main as it is, right only where that is proven by metadata, Flink's state
    and the runs that Flink lists. `until`: its state was not written later, by what another table of the job tells; its
    file may be a copy, which is younger."""
    return _Start(main if isinstance(main, Restores) else Restores(main), stored, until).predicted()


def not_brought_again(
    restores: Restores, left: Sequence[Snapshot], point: RestorePoint | Pairing, wrong_run: JobId | None = None
) -> tuple[Snapshot, ...]:
    """Of the commits that leave main where it goes back to the table state of `point`, those whose rows a job started
    from it does not bring again: of other writers, and repairs but those whose rows the job reads again.

    A run is the job's own where Flink names it, where it is of a related job, wrote that state or is the wrong one, and
    where its sink is the same operator; one that only a restore point names, as a folder of savepoints may be others'
    too, where its commit tells no sink. None that is known as another job's."""
    table, seen, other_jobs = restores.table, restores.seen, restores.other_jobs
    base = list(table.ancestors(point.snapshot_id))[:1]
    own = {run.job_id for run in seen.jobs.values} | other_jobs.related_runs | {wrong_run, *(s.job_id for s in base)}
    own.discard(None)
    sinks = {s.operator_id for s in (*base, *left) if s.job_id in own} - {None}
    stored, going = {each.job_id for each in seen.checkpoints.values}, {s.snapshot_id for s in left}

    def is_own(commit: Snapshot) -> bool:
        is_like = commit.job_id in stored if commit.operator_id is None else commit.operator_id in sinks
        return commit.job_id in own or (is_like and not other_jobs.has_run(commit.job_id))

    def is_missed(commit: Snapshot) -> bool:
        if keeps_its_rows(table, commit) or brings_nothing(table, commit) or commit.only_undid(going):
            return False
        if commit.brings_others or commit.snapshot_id in point.rewind_loses:
            return True
        if commit.is_repair:
            return commit.job_id is None and commit.written is None
        if commit.job_id is not None:
            return not is_own(commit)
        origin = described_by(table, commit)  # of a cherry-pick by hand what it copied
        return origin is None or origin.brings_others or (origin.job_id not in own and origin.written is None)

    return tuple(filter(is_missed, left))


def right_ones(points: Iterable[StoredCheckpoint], tables: Sequence[Case]) -> Iterator[StoredCheckpoint]:
    """Those from which every one of the job's tables goes on right, in their order."""
    there = [Restores(each) for each in tables]
    for each in points:
        if all(predict(each, table).verdict is RestoreVerdict.RIGHT for table in there):
            yield each


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


def extent_in_words(extent: Extent) -> str:
    """`30 rows of 3 commits, checkpoints 6 to 8 of run b92e04`."""
    rows = f"{'at most ' if extent.is_at_most else ''}{counted(extent.rows, 'row')}"
    first, last = extent.first_checkpoint, extent.last_checkpoint
    which = ""
    if first is not None:
        of = f" of run {' and '.join(map(short_job, extent.runs))}" if extent.runs else ""
        which = f", checkpoint {first}{of}" if first == last else f", checkpoints {first} to {last}{of}"
    return f"{rows} of {counted(extent.commits, 'commit')}{which}{_positions(extent.ranges)}"


def _positions(ranges: Sequence[SourceRange]) -> str:
    """`, source positions 30 to 49`, `, source positions 30 to 49 of partition 0 and 2 more ranges`."""
    if not ranges:
        return ""
    first, more = ranges[0], len(ranges) - 1
    of = f" of partition {first.partition}" if first.partition is not None else ""
    rest = f" and {counted(more, 'more range')}" if more else ""
    return f", source positions {first.low:,} to {first.high:,}{of}{rest}"


class _Start:
    """A start from one restore point on main as it is."""

    def __init__(self, restores: Restores, stored: StoredCheckpoint, until: datetime | None) -> None:
        written = restores.commits.written(stored).latest
        self._until = written if until is None else min(written, until)
        self._of, self._stored, self._table = restores, stored, restores.table
        self._met = restores.met_by(stored)
        self._pair = restores.pair(stored)
        self._diagnose = f"Run `waterline diagnose {self._table.name}`."

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
        if commit is not None and self._of.is_of_another_start(self._stored, commit):
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
            for s in self._of.binding
            if s.snapshot_id not in held and not self._is_copy(s, line[0]) and not brings_nothing(self._table, s)
        ]
        aside = [s for s in line if s.snapshot_id not in self._table.chain_ids and s.job_id is not None]
        lost = [s for s in aside if not self._is_back(s)]
        if lost and self._may_be_repaired(lost[-1]):
            return self._open(f"{self._pair.reason} {_MAY_BE_BACK}", self._diagnose)
        repair = self._table.by_id.get(self._pair.brings_again) if self._pair.brings_again is not None else None
        if not after and not lost and repair is None:
            return self._right(self._pair.reason)
        below = () if all(s.job_id == self._stored.job_id for s in after) else self._never_passed(after)
        return self._wrong(self._pair.reason, [*below, *after, *([repair] if repair is not None else [])], lost[::-1])

    def _never_passed(self, after: Sequence[Snapshot]) -> list[Snapshot]:
        """Commits beside `after` that the state is known not to hold: its run, or one before it, began further down. As
        another run went on in its place, or its sink passed rows over, they may not all have come again."""
        known = {s.snapshot_id for s in after}
        return [s for s in self._of.binding if s.snapshot_id not in known and self._has(s) is False]

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
        run, manifests = self._stored.job_id, self._of.seen.flink_manifests
        if not self._of.ends_with(run):
            lost = self._of.lost_of(run) if run is not None else ()
            after = self._of_others_since()
            if not lost and not after:
                return self._open(self._pair.reason, self._diagnose)
            return self._wrong(self._pair.reason, after, lost)
        if not self._stored.is_committer_read:
            return self._open(self._pair.reason, "Make the state files beside its _metadata readable here.")
        if isinstance(manifests, NotSeen):
            unseen = f"{manifests.source} could not be read: {manifests.reason}"
            return self._open(f"{self._pair.reason} {unseen}", manifests.remedy)
        return self._right(f"{self._pair.reason} Start it with the same uid of the sink, or these files are lost.")

    def _of_others_since(self) -> list[Snapshot]:
        """The commits of the job's other runs above those of the state's own run."""
        own = [self._table.place_of(s.snapshot_id) for s in self._table.of_flink if s.job_id == self._stored.job_id]
        others = (s for s in self._of.binding if s.job_id != self._stored.job_id)
        return [s for s in others if self._table.place_of(s.snapshot_id) > max(own, default=-1)]

    def _behind(self) -> RestorePrediction:
        repair = self._of.brought_again(self._stored, None)
        put_back = [repair] if repair is not None else []
        if self._met.verdict is PairVerdict.AHEAD:  # the repair has brought what it would commit
            return self._wrong(self._pair.reason, [*self._of_others_since(), *put_back])
        of_start = self._of.commits.of(self._stored).life_of(self._stored)
        checkpoint = self._stored.checkpoint_id
        is_drained = of_start is not None and checkpoint is not None and of_start.is_drained
        if self._stored.is_drained or (is_drained and of_start.above(checkpoint) is None):  # type: ignore[union-attr,arg-type]
            return self._wrong(self._pair.reason, fails="The sink would never commit again.")
        commits = self._of.binding
        later = [n for n, s in enumerate(commits) if s.job_id == self._stored.job_id and _is_above(s, checkpoint)]
        if not later:
            gone = self._of.missing(self._stored)
            return self._fails(gone) if gone else self._open(self._pair.reason, self._diagnose)
        after = commits[later[0] :]
        return self._wrong(self._pair.reason, [*self._never_passed(after), *after, *put_back], is_at_most=True)

    def _unpaired(self) -> RestorePrediction:
        """Of a run without a commit here it may be known that it began where main ends. Else time tells what main has
        that it does not hold."""
        stored = self._stored
        owes_nothing = stored.is_committer_read and owed_checkpoints(stored, self._table) == ()
        if owes_nothing and not self._table.snapshots and self._table.last_sequence_number == 0:
            return self._right("The table has never had a commit, and the state owes it nothing.")
        point = self._of.began_idle(stored)
        if point is not None:
            found = self._from_state(point.snapshot_id)
            told = f"Run {short_job(stored.job_id)} has committed nothing here since it began where that commit ends."
            return found.model_copy(update={"reason": told})
        later = [s for s in self._of.binding if s.committed_at > self._until and not brings_nothing(self._table, s)]
        after = [s for s in later if stored.job_id is not None or s.checkpoint_id != stored.checkpoint_id]
        if after:  # of an unknown run its own commit may be among those that came right after it
            again = [*self._never_passed(after), *after]
            return self._wrong(f"{self._pair.reason} It is older than commits on main.", again, is_at_most=True)
        return self._open(
            f"{self._pair.reason} It may be the state of another job, or of a run whose commits have expired.",
            f"Find out which job wrote it: `waterline evidence checkpoint_pairing {self._table.name}` lists the job's "
            "restore points.",
        )

    def _held_against_lost_commits(self, found: RestorePrediction) -> RestorePrediction:
        """What would fit, unless its state holds commits that main has lost since: nobody writes those again."""
        lost = [s for s in self._table.rolled_back if s.job_id is not None and not self._is_back(s)]
        lost = [s for s in lost if not self._of.other_jobs.has_run(s.job_id)]
        held = [s for s in lost if self._has(s)]
        if held:
            if self._may_be_repaired(held[0]):
                return self._open(f"{found.reason} {_MAY_BE_BACK}", self._diagnose)
            return self._wrong("Main was rolled back below commits that this state holds", lost=held)
        others = [s for s in lost if self._has(s) is None]
        if not others:
            return found
        return self._open(
            f"{found.reason} But main was rolled back below {counted(len(others), 'commit')} of run "
            f"{short_job(others[0].job_id)}, and whether this state goes back to that run is not known.",
            "Let Flink or its history server show from where each run of the job was started.",
        )

    def _has(self, commit: Snapshot) -> bool | None:
        """Whether the state has the rows of a commit of the job behind it; None: that is not known."""
        return self._ancestry.has(commit, commit.checkpoint_id or 0) if self._ancestry is not None else None

    @cached_property
    def _ancestry(self) -> Ancestry | None:
        """Of the state; None: nothing tells which run wrote it, or at which checkpoint."""
        run, checkpoint = self._stored.job_id, self._stored.checkpoint_id
        if run is None or checkpoint is None:
            return None
        (own, *before), rest = ancestry_of(self._of.case, run, self._until)
        return Ancestry((own._replace(until=checkpoint), *before), rest)

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
        if gone := self._of.missing(self._stored):
            return self._fails(gone)
        lost = records_lost(self._of.case, self._stored)
        if not lost:
            return found
        reason = f"It fits main, but Kafka has deleted records that the job has yet to read: {'; '.join(lost)}."
        return self._wrong(reason).model_copy(update={"lost_for_good": lost})

    def _extent(self, commits: Sequence[Snapshot], *, is_at_most: bool = False) -> Extent | None:
        if not commits:
            return None
        numbers = [s.checkpoint_id for s in commits if s.checkpoint_id is not None]
        return Extent(
            rows=sum(s.counted("added-records") for s in commits),
            is_at_most=is_at_most or not self._is_exact(commits),
            commits=len(commits),
            first_checkpoint=numbers[0] if numbers else None,
            last_checkpoint=numbers[-1] if numbers else None,
            runs=tuple(dict.fromkeys(s.job_id for s in commits if s.job_id is not None)),
            snapshots=tuple(s.snapshot_id for s in commits[:MOST_NAMED]),
            ranges=self._ranges(commits),
        )

    def _ranges(self, commits: Sequence[Snapshot]) -> tuple[SourceRange, ...]:
        """Which source positions they brought, by partition, those that adjoin as one; from the Kafka offset on at
        which the state goes on, where that lies among them. None where some are not known, or not to be shown."""
        case = self._of.case
        if case.ledger is None or case.contract.hides(case.contract.position):
            return ()
        rows = {row.snapshot_id: row for row in case.ledger.rows}
        brought, is_partitioned = list[SourceRange](), case.contract.position_partition is not None
        for commit in (s for s in commits if s.adds_rows):
            row = rows.get(commit.snapshot_id)
            told = (
                row.positions(is_partitioned=case.contract.position_partition is not None) if row is not None else None
            )
            if told is None:
                return ()
            brought += told
        source = self._stored.source_positions
        goes_on = {str(each.partition) if is_partitioned else None: each.following for each in source}
        if len(goes_on) < len(source):
            goes_on = {}
        return _joined(brought, goes_on)

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
        self,
        reason: str,
        repeated: Sequence[Snapshot] = (),
        lost: Sequence[Snapshot] = (),
        *,
        is_at_most: bool = False,
        fails: str | None = None,
    ) -> RestorePrediction:
        again, gone = self._extent(repeated, is_at_most=is_at_most), self._extent(lost)
        said = [reason.rstrip(".") + "."]
        if again is not None:
            said.append(f"A start would write {extent_in_words(again)} a second time.")
            if why_by_key(self._table.properties, repeated[:MOST_NAMED]) is not None:
                said.append("The job writes by key: until it has passed these rows again, readers see older values.")
        if gone is not None:
            said.append(f"The table lacks {extent_in_words(gone)}, which the job would not write again.")
        return RestorePrediction(
            table=self._table.name,
            verdict=RestoreVerdict.WRONG,
            reason=" ".join(said),
            repeated=again,
            lost=gone,
            fails=fails,
        )


def _joined(ranges: Iterable[SourceRange], goes_on: Mapping[str | None, int]) -> tuple[SourceRange, ...]:
    found = list[SourceRange]()
    for each in sorted(ranges, key=lambda r: (r.partition or "", r.low)):
        last, offset = found[-1] if found else None, goes_on.get(each.partition, each.low)
        if offset > each.high:
            continue
        if each.low < offset:
            each = each.model_copy(update={"low": offset, "rows": None})
        if last is not None and last.partition == each.partition and each.low <= last.high + 1:
            rows = last.rows + each.rows if last.rows is not None and each.rows is not None else None
            found[-1] = last.model_copy(update={"high": max(last.high, each.high), "rows": rows})
        else:
            found.append(each)
    return tuple(found)


def _is_above(commit: Snapshot, checkpoint: CheckpointId | None) -> bool:
    return commit.checkpoint_id is not None and checkpoint is not None and commit.checkpoint_id > checkpoint
