"""Which restore points are right for what is asked, the best first, and why each of the others is not. Pure.

What is asked differs: a start on main as it is (`on_main`, `where_files_are_owed`), a start after main has moved back
(`for_rewind`), and from where table and job come together at all (`recovering`).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bot.history.case import Case
from bot.history.other_jobs import those_that_bind
from bot.history.prediction import predict
from bot.history.restore import RestorePoint, Restores, pair_of
from bot.history.source_records import records_lost
from bot.observation.evidence import Ask
from bot.observation.findings import Pairing, PairVerdict
from bot.observation.flink import StoredCheckpoint, owed_checkpoints
from bot.observation.ids import CheckpointId, SnapshotId, short
from bot.observation.paths import may_be_same
from bot.observation.table import Snapshot


class Ranked(NamedTuple):
    """One restore point held against what is asked."""

    stored: StoredCheckpoint | None
    """None where only evidence names it."""
    pair: Pairing
    point: RestorePoint | None
    """What a start from it is; None where it pairs with nothing."""
    why_not: str | None
    """Why it is not right, a sentence or more; None: it is."""


class Ranking(NamedTuple):
    right: tuple[Ranked, ...]
    """The best first."""
    rejected: tuple[Ranked, ...]
    """In the order of what was told, newest first, each with its reason."""

    @property
    def points(self) -> tuple[RestorePoint, ...]:
        """Those that are right, the best first."""
        return tuple(each.point for each in self.right if each.point is not None)

    @property
    def best(self) -> RestorePoint | None:
        return next(iter(self.points), None)

    def in_words(self, most: int = 4) -> str:
        """Those that are not right with their reasons, those that could not be read before all others, a clause."""
        first = sorted(self.rejected, key=lambda each: each.pair.verdict is not PairVerdict.UNREADABLE)[:most]
        told = (f"{e.pair.path}: {e.pair.verdict.value}, {(e.why_not or e.pair.reason).rstrip('.')}" for e in first)
        return "; ".join(told) or "none at all"

    def passed_over(self, chosen: str) -> tuple[str, ...]:
        """How many are newer than `chosen`, a path, and why the newest was not taken: one step for the approver, or
        none. Those that could not be read are left out: `beside` tells of them."""
        known = (e for e in (*self.right, *self.rejected) if may_be_same(e.pair.path, chosen))
        at = next((e.stored.written_at for e in known if e.stored is not None), None)
        newer = [e for e in self.rejected if at is not None and e.stored is not None and e.stored.written_at > at]
        readable = [each for each in newer if each.stored is not None and not each.stored.is_unread]
        if not readable:
            return ()
        which = f"the {len(readable)} newer restore points" if len(readable) > 1 else "the newer restore point"
        return (f"Do not use {which}. The newest is {readable[0].pair.path}: {readable[0].why_not}",)


Told = Iterable[tuple[StoredCheckpoint | None, Pairing]]
"""Restore points, newest first, with what a restore from each would meet."""
Fits = Callable[[StoredCheckpoint | None, Pairing], RestorePoint | str]
"""What a start from it is, or why it is not right, a sentence."""
_MAY_GO = "It is not known to last: Flink may delete it, or has deleted it already."
_MISSING = "The sink would first commit {0}, which is gone from storage, so the job would fail."


def ranked(told: Told, fits: Fits, *, lasting: bool = False) -> Ranking:
    """Those that last first, else in the order of `told`. `lasting`: one that Flink may delete is not right."""
    right, rejected = list[Ranked](), list[Ranked]()
    for stored, pair in told:
        found = fits(stored, pair)
        if isinstance(found, str):
            rejected.append(Ranked(stored, pair, pair_of(pair), found))
        elif lasting and not pair.is_durable:
            rejected.append(Ranked(stored, pair, found, _MAY_GO))
        else:
            right.append(Ranked(stored, pair, found, None))
    return Ranking(tuple(sorted(right, key=lambda each: not each.pair.is_durable)), tuple(rejected))


def for_start(seen: Case | Restores) -> Ranking:
    """The lasting points that storage shows, for a start on main as it is."""
    restores = seen if isinstance(seen, Restores) else Restores(seen)
    return ranked(restores.shown, on_main(restores), lasting=True)


def where_files_wait(case: Case) -> Ranking:
    """The same, of those that still owe files."""
    restores = Restores(case)
    return ranked(restores.shown, where_files_are_owed(restores), lasting=True)


def in_evidence(restores: Restores) -> Told:
    """As the evidence names them: what a proposal may rest on."""
    stored = {each.path: each for each in restores.seen.checkpoints.values}
    return ((stored.get(pair.path), pair) for pair in restores.in_evidence)


def only_copies_follow(snapshot: SnapshotId, commits: Sequence[Snapshot]) -> bool:
    """Whether this is one of `commits`, those that bind in order, and none but copies of it (F1) come after it."""
    place = next((n for n, s in enumerate(commits) if s.snapshot_id == snapshot), None)
    return place is not None and len({(s.job_id, s.checkpoint_id) for s in commits[place:]}) == 1


def on_main(restores: Restores) -> Fits:
    """For a start on main as it is: the point pairs with the newest commit that binds, of which only copies (F1) may
    follow, and no repair above it has brought rows that the job would bring again. One of a run that has committed
    nothing pairs with what its run began with."""

    def fits(stored: StoredCheckpoint | None, pair: Pairing) -> RestorePoint | str:
        point = pair_of(pair)
        if point is None and stored is not None:
            point = restores.began_idle(stored)
        if point is None or point.brings_again is not None:
            return pair.reason
        if not only_copies_follow(point.snapshot_id, restores.binding):
            return predict(stored, restores).reason if stored is not None else pair.reason
        return _of_its_own_start(restores, stored, point)

    return fits


def _of_its_own_start(restores: Restores, stored: StoredCheckpoint | None, point: RestorePoint) -> RestorePoint | str:
    commit = restores.table.by_id.get(point.snapshot_id)
    if stored is not None and commit is not None and restores.is_of_another_start(stored, commit):
        return f"It may be of an earlier start under the job id that made {short(commit.snapshot_id)}."
    return point


def where_files_are_owed(restores: Restores) -> Fits:
    """For a start on main as it is: the point goes on right above main's newest commit that binds, and the sink commits
    first the files that it owes, which are all on storage."""

    def fits(stored: StoredCheckpoint | None, pair: Pairing) -> RestorePoint | str:
        if stored is None or stored.checkpoint_id is None or stored.digest is None or not restores.binding:
            return pair.reason
        owed, missing = owed_checkpoints(stored, restores.table), restores.missing(stored)
        if pair.verdict is not PairVerdict.AHEAD or not owed:
            return pair.reason
        if not restores.brings_back(stored, pair, missing):
            return _MISSING.format(missing[0]) if missing else pair.reason
        return RestorePoint(
            path=stored.path,
            checkpoint_id=stored.checkpoint_id,
            snapshot_id=restores.binding[-1].snapshot_id,
            digest=stored.digest,
            owes=CheckpointId(max(owed)),
        )

    return fits


def for_rewind(case: Case, last_good: SnapshotId) -> Ranking:
    """By evidence: the lasting point that pairs with the newest snapshot at or below `last_good` is the best."""
    restores, table = Restores(case), case.observation.table
    below = {s.snapshot_id: place for place, s in enumerate(table.ancestors(last_good))}

    def fits(stored: StoredCheckpoint | None, pair: Pairing) -> RestorePoint | str:
        point = pair_of(pair)
        if point is None:
            return pair.reason
        if point.snapshot_id not in below:
            is_lost = point.snapshot_id not in table.chain_ids
            where = "was rolled back" if is_lost else f"is above {short(last_good)}, the last good one"
            return f"It pairs with {short(point.snapshot_id)}, which {where}."
        if not _speaks_for_its_run(case, table.by_id[point.snapshot_id]):
            return f"Repair {short(point.snapshot_id)} has restored its commit above commits of another run."
        return _of_its_own_start(restores, stored, point)

    found = ranked(in_evidence(restores), fits, lasting=True)
    nearest = sorted(found.right, key=lambda each: below[each.point.snapshot_id] if each.point else len(below))
    return found._replace(right=tuple(nearest))


def _speaks_for_its_run(case: Case, snapshot: Snapshot) -> bool:
    """Any commit but one that was put back above those of another run."""
    if not snapshot.is_repair:
        return True
    line = case.observation.table.ancestors(snapshot.snapshot_id)
    by_flink = [s for s in line if s.job_id and s.checkpoint_id is not None]
    return any(s.snapshot_id == snapshot.snapshot_id for s in those_that_bind(case, by_flink[::-1]))


class Recovering(NamedTuple):
    """One restore point, as table and job come together from it."""

    stored: StoredCheckpoint
    pair: Pairing
    missing: tuple[str, ...]
    """Owed manifests that are gone."""
    lost: tuple[str, ...]
    """Ranges of records that it needs and Kafka has no more, a clause each."""
    brings_back: bool
    """See `RestoreReach.brings_back`."""
    may_bring_back: bool
    """The same where owed manifests that were not seen count as there: while a run commits, they are gone before the
    table is read."""


def recovering(seen: Case | Ask) -> tuple[Recovering, ...]:
    """Every restore point that storage shows, the best first: those that bring table and job back and whose records are
    all there, then what pairs, what lasts, and the newest."""
    restores, found = Restores(seen), list[Recovering]()
    for stored, pair in restores.shown:
        missing = restores.missing(stored)
        brings, may = (restores.brings_back(stored, pair, told) for told in (missing, ()))
        found.append(Recovering(stored, pair, missing, records_lost(seen, stored), brings, may))
    return tuple(
        sorted(
            found,
            key=lambda each: (
                not (each.brings_back and not each.lost),
                not each.brings_back,
                each.pair.verdict is not PairVerdict.PAIRED,
                not each.pair.is_durable,
                -each.stored.written_at.timestamp(),
            ),
        )
    )
