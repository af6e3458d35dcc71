"""What evidence finds in a history, worked out with loops of its own: no rule of the product has a say in it.

What the Flink manifests on storage mean is a rule, so they are only listed here, with the world as it was shown when
somebody looked: `by_task` has the evidence task judge them.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from datetime import datetime
from itertools import pairwise
from typing import Literal, NamedTuple

from bot.history.case import Case
from bot.history.staleness import not_covered_since
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import (
    CommitRanges,
    CompactedRows,
    CorrectedRowsFinding,
    DuplicateCommitsFinding,
    DuplicatePair,
    DuplicatesFinding,
    GapsFinding,
    LeakedManifestsFinding,
    LeakStanding,
    PositionGap,
    RepeatedCommit,
)
from bot.observation.ids import SnapshotId
from bot.observation.ledger import FileWriter, Ledger, SourceRange
from bot.observation.looked import NotSeen
from bot.observation.table import Snapshot, Window
from tests.diagnosis.histories.history import History
from tests.diagnosis.histories.shown import case_shown
from tests.diagnosis.histories.sink import Written
from tests.diagnosis.histories.source import STRIDE, Stand, by_partition, offset_of
from tests.diagnosis.histories.truth import ranges_of
from tests.diagnosis.little_evidence import TASKS as COUNTED
from tests.found import evidence, files_twice, ledger_of, newest_event, orphans, retention, schema, unreadable

Repetition = Literal["same-checkpoint", "same-source-range"]
TASKS = (*COUNTED.values(), "duplicate_files", "forked_writers", "table_health")
"""`forked_writers` is gone: it stays here because each seed draws by place and name. No mode ever asked for it."""
_LOOKED, _SEVERAL = 20, 5
"""So many commits are looked at for a silent partition, and over so many it has to be silent."""
_OF_ROWS = {"duplicate_rows": "duplicates", "missing_positions": "gaps"}
"""Task that counts rows -> the field of a case that it fills."""


class Moment(NamedTuple):
    """When a task looked, and at what."""

    head: SnapshotId
    at: datetime
    window: Window
    oldest: SnapshotId | None
    """The oldest commit that main listed."""


class LeftBehind(NamedTuple):
    """The Flink manifests that lay on storage when somebody looked, and what there was to see beside them."""

    manifests: tuple[Written, ...]
    case: Case
    window: Window
    holds: Mapping[SnapshotId, tuple[int, ...]]
    """Commit -> source positions that it brought, as its files tell."""
    mixes_files: bool
    """Whether a file holds rows of several source partitions, so that its bounds tell of none."""

    def ranges_of(self, written: Written) -> tuple[SourceRange, ...] | None:
        """What the rows of a manifest cover of the source; None: bounds of its files do not tell."""
        by_name = by_partition(written.rows)
        is_partitioned = self.case.contract.position_partition is not None
        if self.mixes_files and len(by_name) > 1:
            return None
        return tuple(
            SourceRange(partition=str(each) if is_partitioned else None, low=own[0], high=own[-1], rows=len(own))
            for each, own in by_name.items()
        )


class Looked(NamedTuple):
    """All evidence, each task as of its moment: while one looks, a job that runs commits."""

    found: dict[str, object]
    moments: Mapping[str, Moment]
    since: SnapshotId | None
    unplaced: bool = False
    begins: Stand = ()
    """The lowest source position that was asked for, in each partition."""
    below: frozenset[SnapshotId] = frozenset()
    """The commits of main from before the window."""
    failed: frozenset[str] = frozenset()
    """Tasks that ran and could not answer."""
    unasked: frozenset[str] = frozenset()
    """Tasks that never ran."""
    is_short: bool = False
    """Whether rows may be missing where positions did not tell, whatever gaps do."""
    before: tuple[Evidence, ...] = ()
    """What these tasks had answered when they looked before, oldest first."""


def look(history: History, since: SnapshotId | None) -> Looked:
    """Evidence is collected now, for the window that begins there."""
    window = Window(since=since, until=history.head).on_main(history.tale.table)
    table = history.table
    found: dict[str, object] = {
        "ledger": _ledger(history, window),
        "duplicates": _duplicates(history, window),
        "gaps": _gaps(history, window),
        "duplicate_commits": _repeated(history, window),
        "leaked": LeftBehind(
            tuple(history.sink.manifests.values()),
            case_shown(history, since),
            window,
            dict(table.holds),
            history.setting.mixes_files,
        ),
        "unreadable": unreadable(),
        "orphans": orphans(len(table.orphans), newest_at=max(table.orphans, default=None)),
        "corrected": CorrectedRowsFinding(keys=0, gone=0, columns={}, compactions=_compactions(table.chain)),
        "duplicate_files": files_twice(),
        "table_health": retention(),
        "schema_drift": schema(),
        "freshness": newest_event(),
    }
    gaps = found["gaps"]
    assert isinstance(gaps, GapsFinding)
    is_short = _is_unplaced(history, window)
    unplaced = is_short or gaps.is_untold
    if unplaced and not gaps.missing and not gaps.is_untold:
        found["gaps"] = None
    begins, below = _edge(history, window)
    oldest = history.tale.table.chain[-1].snapshot_id if history.tale.table.chain else None
    moment = Moment(history.head, history.tale.now, window, oldest)
    return Looked(found, dict.fromkeys(TASKS, moment), since, unplaced, begins, below, is_short=is_short)


def look_again(history: History, looked: Looked, tasks: Iterable[str]) -> Looked:
    """These tasks look once more, now; each that failed answers then."""
    fresh = look(history, looked.since)
    again = _of_tasks(looked, fresh, {*tasks})
    known = {*_OF_ROWS} & {*tasks} - looked.failed - looked.unasked
    return again._replace(
        begins=fresh.begins,
        below=fresh.below,
        failed=looked.failed - {*tasks},
        unasked=looked.unasked - {*tasks},
        before=(*looked.before, *(_evidence(task, looked, None) for task in sorted(known))),
    )


def looks_at_a_part(history: History, looked: Looked, tasks: Iterable[str]) -> Looked:
    """These tasks were asked of the newer half of the window only."""
    inside = {s.snapshot_id for s in looked.moments["ledger"].window.of(history.tale.table)}
    main = [s.snapshot_id for s in history.table.chain if s.snapshot_id in inside]
    return _of_tasks(looked, look(history, main[len(main) // 2]), {*tasks}) if len(main) > 1 else looked


def _of_tasks(looked: Looked, fresh: Looked, again: Set[str]) -> Looked:
    fields = {field for field in fresh.found if _task_of(field) in again}
    return looked._replace(
        found={field: (fresh if field in fields else looked).found[field] for field in fresh.found},
        moments={task: (fresh if task in again else looked).moments[task] for task in TASKS},
        unplaced=(fresh if "missing_positions" in again else looked).unplaced,
        is_short=(fresh if "missing_positions" in again else looked).is_short,
    )


def case_of(history: History, looked: Looked, judge: Callable[[LeftBehind], LeakedManifestsFinding]) -> Case:
    """The case as the bot would build it: the world now, evidence as it was found, Flink manifests as the judge has
    it."""
    left = looked.found["leaked"]
    assert isinstance(left, LeftBehind)
    leaked = judge(left)
    evidence = tuple(_evidence(task, looked, leaked) for task in TASKS if task not in looked.unasked)
    silent = looked.failed | looked.unasked
    gone = {field: None for field in looked.found if _task_of(field) in silent}
    case = case_shown(history, looked.since)
    accused = not_covered_since((*looked.before, *evidence), case.observation.table)
    found = {**looked.found, "leaked": leaked, **gone, "evidence": evidence, "accused": accused}
    case = case.model_copy(update=found)
    return case if history.setting.has_positions else _without_positions(case)


def _without_positions(case: Case) -> Case:
    """What the same evidence finds of a table whose rows do not carry their position."""
    compared, ledger = case.duplicate_commits, case.ledger
    if compared is not None:
        repeated = tuple(each for each in compared.repeated if each.how != "same-source-range")
        ranges = tuple(each.model_copy(update={"ranges": None}) for each in compared.ranges)
        compared = compared.model_copy(update={"repeated": repeated, "ranges": ranges})
    if ledger is not None:
        bare = {"position_from": None, "position_until": None, "ranges": None}
        ledger = ledger.model_copy(update={"rows": tuple(row.model_copy(update=bare) for row in ledger.rows)})
    told = (
        each.model_copy(update={"verdict": Verdict.INCONCLUSIVE}) if each.task == "missing_positions" else each
        for each in case.evidence
    )
    accused = tuple(each for each in case.accused if each.task != "missing_positions")
    update = {
        "gaps": None,
        "duplicate_commits": compared,
        "ledger": ledger,
        "evidence": tuple(told),
        "accused": accused,
    }
    return case.model_copy(update=update)


def _task_of(field: str) -> str:
    return COUNTED.get(field, field)


def _ledger(history: History, window: Window) -> Ledger:
    told = ledger_of(history.tale.table, window)
    rows = []
    for row in told.rows:
        is_whole = row.operation == "replace"
        held = history.table.live(row.snapshot_id) if is_whole else history.table.holds[row.snapshot_id]
        offsets = [offset_of(each) for each in held]
        ends = {"position_from": min(offsets, default=None), "position_until": max(offsets, default=None)}
        is_told = bool(held or row.added_rows) and not (history.setting.mixes_files and len(by_partition(held)) > 1)
        named = {"ranges": ranges(history, held) if is_told else None, "writers": _writers(history, row.snapshot_id)}
        rows.append(row.model_copy(update={**ends, **named}))
    return told.model_copy(update={"rows": tuple(rows)})


def ranges(history: History, held: Iterable[int]) -> tuple[SourceRange, ...]:
    """What rows of these positions cover of the source, by its partitions."""
    return tuple(
        SourceRange(partition=_named(history, each), low=offsets[0], high=offsets[-1], rows=len(offsets))
        for each, offsets in by_partition(held).items()
    )


def _named(history: History, partition: int) -> str | None:
    return str(partition) if history.source.partitions > 1 else None


def _writers(history: History, commit: SnapshotId) -> tuple[FileWriter, ...] | None:
    numbers = dict[str, list[int]]()
    for writer, number in history.table.files.get(commit, ()):
        numbers.setdefault(writer, []).append(number)
    told = (
        FileWriter(subtask=0, attempt=0, id=writer, first=min(those), last=max(those))
        for writer, those in numbers.items()
    )
    return tuple(sorted(told, key=lambda each: (each.first, each.id))) or None


def _duplicates(history: History, window: Window) -> DuplicatesFinding:
    """By keys, one copy at least from the window: rows that come again under other keys are found by nothing here."""
    inside = {s.snapshot_id for s in window.of(history.tale.table)}
    every = history.table.live_by_commit(history.head)
    fresh = {position for position, commit in every if commit in inside}
    rows = [(position, commit) for position, commit in every if position in fresh]
    if history.setting.keys:
        return _duplicate_keys(history, inside)
    first: dict[int, SnapshotId] = {}
    pairs = Counter[tuple[SnapshotId, SnapshotId]]()
    for position, commit in rows:
        if position in first and history.setting.keeps_keys:
            pairs[first[position], commit] += 1
        first.setdefault(position, commit)
    again = {position for position, number in Counter(position for position, _ in rows).items() if number > 1}
    return DuplicatesFinding(
        rows_checked=len(rows),
        keys=len(again) if history.setting.keeps_keys else 0,
        extra_rows=pairs.total(),
        pairs=tuple(DuplicatePair(first=one, second=other, keys=keys) for (one, other), keys in pairs.items()),
    )


def _duplicate_keys(history: History, inside: Set[SnapshotId]) -> DuplicatesFinding:
    """Of a table that is written by key."""
    rows = dict[int, list[SnapshotId]]()
    for position, commit in history.table.live_by_commit(history.head):
        rows.setdefault(history.table.key_of(position), []).append(commit)
    looked_at = [those for those in rows.values() if inside & {*those}]
    twice = [those for those in looked_at if len(those) > 1]
    pairs = Counter((one, other) for those in twice for one, other in pairwise(those))
    return DuplicatesFinding(
        rows_checked=sum(map(len, looked_at)),
        keys=len(twice),
        extra_rows=pairs.total(),
        pairs=tuple(DuplicatePair(first=one, second=other, keys=keys) for (one, other), keys in pairs.items()),
    )


def _gaps_by_key(history: History, window: Window) -> GapsFinding:
    """What no commit on main brought: a row that was replaced is not missing. Within what one commit brought it is not
    sure, as rows of a key that follow at once may have been left out."""
    table, holds = history.tale.table, history.table.holds
    inside = window.of(table)
    off = {s.snapshot_id for s in table.rolled_back}
    own = [s.snapshot_id for s in inside if s.snapshot_id not in off]
    lost = {p for s in inside if s.snapshot_id in off for p in holds[s.snapshot_id]}
    by_commit = {p: commit for commit in own for p in holds[commit]}
    lowest = {each: those[0] for each, those in by_partition({*by_commit, *lost}).items()}
    live = set(history.table.live_now)
    if not lowest or not live:
        return GapsFinding(lowest=None, highest=None, positions=0, missing=0, gaps=())
    older = history.table.live(window.since) if window.since is not None else ()
    brought = by_partition({*by_commit, *live, *older})
    sure, untold, to_come, there = list[PositionGap](), list[PositionGap](), 0, 0
    for partition, low in lowest.items():
        places = brought.get(partition, [])
        begins = max((p for p in places if p < low), default=low)
        known = [p for p in places if p >= begins]
        there += sum(1 for p in known if p >= low)
        for one, other in pairwise([begins - 1, *known] if begins == low else known):
            if other > one + 1:
                gap = PositionGap(first=one + 1, last=other - 1, partition=_named(history, partition))
                ends = {by_commit.get(partition * STRIDE + each) for each in (one, other)}
                is_lost = any(partition * STRIDE + p in lost for p in range(one + 1, other))
                is_wide = _kind_of(history, partition, gap, ()) is True
                (sure if is_lost or (len(ends) > 1 and is_wide) else untold).append(gap)
        top = known[-1] if known else -1
        to_come += sum(1 for p in by_partition(lost).get(partition, ()) if p > top)
    is_untold = bool(untold) and not sure
    told = untold if is_untold else sure
    return GapsFinding(
        lowest=min(lowest.values()),
        highest=max((brought[each][-1] for each in lowest if each in brought), default=None),
        positions=there,
        missing=sum(gap.size for gap in told),
        gaps=tuple(told[:20]),
        to_come=to_come,
        replaced=sum(1 for p in by_commit if p not in live),
        is_untold=is_untold,
        tops={name: brought[each][-1] for each in lowest if each in brought and (name := _named(history, each))},
    )


def _gaps(history: History, window: Window) -> GapsFinding:
    """In each partition from just below the lowest position that the window's commits brought up to the highest live
    one. A position that never had a record is missing as well."""
    if history.setting.keys:
        return _gaps_by_key(history, window)
    table, inside = history.tale.table, window.of(history.tale.table)
    off = {s.snapshot_id for s in table.rolled_back}
    brought = by_partition({p for s in inside for p in history.table.holds[s.snapshot_id]})
    taken = by_partition({p for s in inside if s.snapshot_id in off for p in history.table.holds[s.snapshot_id]})
    live = by_partition(set(history.table.live_now))
    if not brought or not live:
        return GapsFinding(lowest=None, highest=None, positions=0, missing=0, gaps=())
    gaps, untold = list[PositionGap](), list[PositionGap]()
    positions = to_come = 0
    for partition, own in brought.items():
        there = live.get(partition, [])
        top = there[-1] if there else -1
        begins = max((p for p in there if p < own[0]), default=own[0])
        missing = ranges_of(set(range(begins, top + 1)) - set(there))
        found = [PositionGap(first=one, last=last, partition=_named(history, partition)) for one, last in missing]
        for gap in found:
            kind = _kind_of(history, partition, gap, taken.get(partition, ()))
            (gaps if kind is True else untold if kind is False else []).append(gap)
        positions += sum(1 for p in there if p >= own[0])
        to_come += sum(1 for p in taken.get(partition, ()) if p > top)
    is_untold = bool(untold) and not gaps
    gaps = untold if is_untold else gaps
    return GapsFinding(
        is_untold=is_untold,
        lowest=min(own[0] for own in brought.values()),
        highest=max(live[each][-1] for each in brought if each in live) if brought.keys() & live.keys() else None,
        positions=positions,
        missing=sum(gap.size for gap in gaps),
        gaps=tuple(gaps[:20]),
        to_come=to_come,
        tops={name: live[each][-1] for each in brought if each in live and (name := _named(history, each)) is not None},
    )


_WIDER = 10
"""A hole between two commits so many times as wide as any between rows of one is surely a loss."""


def _kind_of(history: History, partition: int, gap: PositionGap, taken: Collection[int]) -> bool | None:
    """Whether it is a loss for sure; None: it is no loss by itself, where positions are not dense. Within one commit it
    is none as long as nobody took rows out."""
    if not history.setting.tells_of_holes or any(gap.first <= each <= gap.last for each in taken):
        return True
    main = history.table.chain
    held = [by_partition(history.table.holds[s.snapshot_id]).get(partition, []) for s in main]
    only_adds = all(s.operation == "append" or s.operation == "replace" for s in main)
    if only_adds and any(own and own[0] < gap.first and gap.last < own[-1] for own in held):
        return None
    widest = max((b - a - 1 for own in held for a, b in pairwise(own)), default=0)
    return gap.size > _WIDER * max(1, widest)


def _edge(history: History, window: Window) -> tuple[Stand, frozenset[SnapshotId]]:
    inside = {s.snapshot_id for s in window.of(history.tale.table)}
    line, at = list[SnapshotId](), history.tale.head
    while at is not None:
        line.append(at)
        at = history.table.parents[at]
    below = frozenset(each for each in line if each not in inside)
    brought = by_partition(p for each in inside for p in history.table.holds[each])
    live = by_partition(history.table.live_now)
    stand = list[int]()
    for partition in range(history.source.partitions):
        there = live.get(partition, [])
        lowest = brought[partition][0] if partition in brought else max(there, default=-1) + 1
        stand.append(max((p for p in there if p < lowest), default=-1) + 1)
    return tuple(stand), below


def _is_unplaced(history: History, window: Window) -> bool:
    """Whether it is open in some partition if rows are missing: nothing lives below the window's rows although the
    table was there, and they do not begin with 0; or the window has none of a partition that wrote just below it, or
    none any more for a while."""
    inside = {w.snapshot_id for w in window.of(history.tale.table)}
    main = [s for s in history.table.chain if s.snapshot_id in inside]
    holds = history.table.holds
    live = by_partition(history.table.live(window.since) if history.setting.keys else history.table.live_now)
    brought = by_partition(p for each in inside for p in holds[each])
    if main and main[0].has_commit_below:
        lows = ((each, own[0]) for each, own in brought.items() if own[0])
        if any(not any(p < low for p in live.get(each, ())) for each, low in lows):
            return True
    if history.source.partitions == 1:
        return False
    below = [s for s in history.table.chain if s.snapshot_id not in inside and holds[s.snapshot_id]][-_LOOKED:]
    if any(each not in brought for each in by_partition(p for s in below for p in holds[s.snapshot_id])):
        return True
    newest = [by_partition(holds[s.snapshot_id]).keys() for s in main if holds[s.snapshot_id] and s.job_id][-_LOOKED:]
    return any(_is_quiet(each, newest) for each in brought)


def _is_quiet(partition: int, commits: Sequence[Collection[int]]) -> bool:
    """Silent in more than a few of the newest commits, and more than twice as long as ever before."""
    silences = [0]
    for each in commits:
        if partition in each:
            silences.append(0)
        else:
            silences[-1] += 1
    return silences[-1] >= _SEVERAL and silences[-1] > 2 * max(silences[:-1], default=0)


def _compactions(chain: list[Snapshot]) -> tuple[CompactedRows, ...]:
    return tuple(CompactedRows(snapshot_id=s.snapshot_id, lost=0) for s in chain if s.operation == "replace")


def _repeated(history: History, window: Window) -> DuplicateCommitsFinding:
    """Each commit of the window beside the first one that it repeats."""
    commits = [s for s in history.table.chain if s.job_id or s.is_pick]
    inside = {s.snapshot_id for s in window.of(history.tale.table)}
    found = list[RepeatedCommit]()
    for index, again in enumerate(commits):
        if again.snapshot_id not in inside:
            continue
        told = ((first, _how(history, first, again)) for first in commits[:index])
        found += [_repeats(history, first, again, how) for first, how in told if how is not None][:1]
    brought = tuple(
        CommitRanges(snapshot_id=s.snapshot_id, ranges=ranges(history, history.table.holds[s.snapshot_id]))
        for s in commits
    )
    return DuplicateCommitsFinding(commits_checked=len(commits), repeated=tuple(found), ranges=brought)


def _repeats(history: History, first: Snapshot, again: Snapshot, how: Repetition) -> RepeatedCommit:
    return RepeatedCommit(
        first=first.snapshot_id,
        again=again.snapshot_id,
        how=how,
        job_id=again.job_id,
        checkpoint_id=again.checkpoint_id,
        rows=len(history.table.holds[again.snapshot_id]),
    )


def _how(history: History, first: Snapshot, again: Snapshot) -> Repetition | None:
    """One checkpoint id over another source range repeats nothing: the ids count from 1 again."""
    if not set(history.table.holds[first.snapshot_id]) & set(history.table.holds[again.snapshot_id]):
        return None
    one, other = ((s.job_id, s.operator_id, s.checkpoint_id) for s in (first, again))
    return "same-checkpoint" if one == other else "same-source-range"


def _holes_left(looked: Looked) -> tuple[NotSeen, ...]:
    gaps = looked.found["gaps"]
    is_untold = isinstance(gaps, GapsFinding) and gaps.is_untold
    told = ("holes",) * is_untold + ("the ends of source partitions",) * looked.is_short
    return tuple(NotSeen(source=each, reason="Nothing tells.", remedy="Ask the source.") for each in told)


def _evidence(task: str, looked: Looked, leaked: LeakedManifestsFinding | None) -> Evidence:
    moment = looked.moments[task]
    is_untold = leaked is not None and not leaked.lost_rows and bool(leaked.of(LeakStanding.UNTOLD))
    is_untold = is_untold and task == "leaked_manifests"
    is_open = is_untold or task in looked.failed or (task == "missing_positions" and looked.unplaced)
    is_wrong = task in _OF_ROWS and _finds_wrong_rows(looked.found[_OF_ROWS[task]])
    return evidence(
        task,
        moment.window,
        moment.at,
        head=moment.head,
        oldest=moment.oldest,
        verdict=Verdict.INCONCLUSIVE if is_open else Verdict.CONFIRMED if is_wrong else Verdict.RULED_OUT,
        could_not_look=_holes_left(looked) if task == "missing_positions" else (),
    )


def _finds_wrong_rows(finding: object) -> bool:
    match finding:
        case GapsFinding(missing=missing, is_untold=is_untold):
            return bool(missing) and not is_untold
        case DuplicatesFinding(keys=keys):
            return bool(keys)
    return False
