"""One look at one table: the pointer first, then only what it or the job gives reason for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import ModeModule
from bot.domain.diagnosis import Case
from bot.domain.errors import CouldNotLook, UnknownTable
from bot.domain.evidence import Observation
from bot.domain.flink import JobRun, StoredCheckpoint
from bot.domain.ids import SnapshotId, TableName
from bot.domain.looked import NotSeen, Seen
from bot.domain.reads import ReadRun
from bot.domain.record import Record
from bot.domain.setup import TableSetup
from bot.domain.suspicion import propose_window
from bot.domain.table import TableState
from bot.domain.watch import Sign
from bot.ports import Clock
from bot.service.diagnosing import build_case
from bot.service.examining import Examiner
from bot.service.observing import Observer
from bot.service.watch_facts import facts_of
from bot.service.watch_signs import CONDITIONS, Signs, signs_in, suspicion
from bot.service.watch_tail import goes_on_from, tail_of
from bot.service.watch_unnamed import newest_event, unnamed_signs
from bot.service.watch_unseen import ASIDE, CATALOG, EVIDENCE, FLINK, PLAIN, blind_to, hidden_aside, why_not

_SHARE = 20
"""A table's metadata is read for at most one twentieth of the time, and judged and looked at closer for as much each: a
long history, or a full folder, makes looks rarer, not dearer."""
_CLOSER_WHILE_WRONG = timedelta(minutes=1)
_MEANWHILE = frozenset({"no-commit", "stale"})
_NOT_ASKED = NotSeen(source="what a quick look leaves out", reason="It was not looked at.", remedy="Look closer.")


class WatchTerms(Record):
    """How the watch goes about it."""

    every: timedelta = timedelta(seconds=30)
    """Between two looks at a table."""
    again: timedelta = timedelta(seconds=5)
    """After so long a new sign is looked at again; it is told only if it still holds."""
    evidence_every: timedelta = timedelta(minutes=10)
    """Evidence without rows is collected so often though nothing is suspicious."""
    patience: timedelta = timedelta(minutes=2)
    """How long a job may be down on purpose, a source silent, and a condition gone before it counts as over."""


@dataclass
class TableSeen:
    """What this process has seen of one table so far. Nothing of it is needed after a restart."""

    pointer: str = ""
    state: TableState | None = None
    read_again_at: datetime | None = None
    judge_again_at: datetime | None = None
    judged: SnapshotId | None = None
    """The head up to which nothing was wrong. None: not judged yet, or something is; then all of it is looked at."""
    suspicion: str = ""
    closer_at: datetime | None = None
    closer: tuple[Sign, ...] = ()
    """Signs of the newest closer look."""
    closer_beside: frozenset[str] = frozenset()
    """See `Signs.beside`; of the newest closer look."""
    newest_event: datetime | None = None
    """As the newest closer look told it."""
    looked_closer_at: datetime | None = None
    unseen: dict[str, datetime] = field(default_factory=dict)
    """Source -> since when it could not be looked at."""


class Look(Record):
    """What one look saw."""

    signs: tuple[Sign, ...]
    beside: frozenset[str] = frozenset()
    """Codes of what holds and is not told by itself, because one of `signs` stands for it."""
    facts: tuple[str, ...] = ()
    """How table and job stand, a sentence each."""
    unseen: frozenset[str] = frozenset()
    """Sources that could not be looked at: what they tell of is not over because it was not seen."""

    @property
    def is_whole(self) -> bool:
        """Whether everything could be looked at."""
        return not self.unseen

    def would_show(self, code: str) -> bool:
        """Whether that would have been seen if it were so."""
        return self.is_whole or (code in PLAIN and self.unseen <= ASIDE)


class Eye:
    """Looks. Pure reading; what it remembers of a table is handed to it."""

    def __init__(
        self,
        observer: Observer,
        examiner: Examiner,
        modes: Mapping[str, ModeModule],
        clock: Clock,
        terms: WatchTerms,
    ) -> None:
        self._observer = observer
        self._examiner = examiner
        self._modes = modes
        self._clock = clock
        self._terms = terms

    def look(self, table: TableName, seen: TableSeen) -> Look | None:
        """None when there is nothing to be judged now: the table is empty, or was read or judged too short a while
        ago."""
        if seen.judge_again_at is not None and self._clock.now() < seen.judge_again_at:
            return None
        try:
            state = self._state(table, seen)
        except (CouldNotLook, UnknownTable) as error:
            return Look(signs=self._blind_to(seen, CATALOG, why_not(CATALOG, error)), unseen=frozenset(seen.unseen))
        self._blind_to(seen, CATALOG, None)
        if state is None or state.head is None:
            return None
        setup = self._observer.setup(table)
        jobs, began = self._observer.runs(setup), self._clock.now()
        case, found = self._judge(setup, state, jobs, seen)
        is_missing = isinstance(jobs, NotSeen) and setup.job is not None
        missing = self._blind_to(seen, FLINK, jobs if isinstance(jobs, NotSeen) and is_missing else None)
        told = suspicion(case)
        seen.judge_again_at = began + _SHARE * (self._clock.now() - began)
        is_due = seen.closer_at is None or self._clock.now() >= seen.closer_at or self._may_be_stale(case, seen)
        if told != seen.suspicion or is_due:
            self._look_closer(table, seen, told)
        known = {(sign.code, sign.subject) for sign in seen.closer}
        is_explained = any(sign.is_urgent and sign.code.startswith("F") for sign in seen.closer)
        more = tuple(sign for sign in found.told if (sign.code, sign.subject) not in known)
        beside = found.beside | seen.closer_beside
        if is_explained:
            beside |= {sign.code for sign in more}
            more = ()
        return Look(
            signs=(*seen.closer, *more, *missing),
            beside=beside,
            facts=facts_of(case, self._clock.now()),
            unseen=frozenset(seen.unseen),
        )

    def meanwhile(self, table: TableName, seen: TableSeen) -> tuple[Sign, ...]:
        """What nobody else follows while an incident is open: a run that commits nothing, and a table that gets stale.
        A quick look only; nothing where it could not be looked."""
        try:
            state = self._state(table, seen)
        except (CouldNotLook, UnknownTable):
            return ()
        if state is None or state.head is None:
            return ()
        setup = self._observer.setup(table)
        jobs = self._observer.runs(setup)
        found = unnamed_signs(_quick(setup, tail_of(state, jobs) or state, jobs), self._terms.patience)
        return tuple(sign for sign in found if sign.code in _MEANWHILE)

    def _judge(
        self, setup: TableSetup, state: TableState, jobs: Seen[JobRun] | NotSeen, seen: TableSeen
    ) -> tuple[Case, Signs]:
        """By the newest part of the history, where what lies below was judged and found right; by all of it at first,
        and wherever a failure mode has something to tell."""
        tail = tail_of(state, jobs)
        parts = (tail, state) if tail is not None and goes_on_from(tail, seen.judged) else (state,)
        for part in parts:
            case = _quick(setup, part, jobs)
            found = signs_in(case, diagnose(case, self._modes), patience=self._terms.patience)
            is_wrong = bool(self._modes.keys() & {*found.beside, *(sign.code for sign in found.told)})
            if not is_wrong:
                break
        if is_wrong:
            seen.judged = None
        elif setup.job is None or not isinstance(jobs, NotSeen):  # nobody knows it is right before Flink has answered
            seen.judged = state.head
        return case, found

    def _state(self, table: TableName, seen: TableSeen) -> TableState | None:
        """The table now. While the pointer is the same, what was read before; None while it is not yet to be read."""
        pointer = self._observer.catalog.pointer(table)
        began = self._clock.now()
        if seen.state is not None and pointer == seen.pointer:
            return seen.state.model_copy(update={"read_at": began})
        if seen.read_again_at is not None and began < seen.read_again_at:
            return None
        seen.state = self._observer.table(table)
        seen.pointer = seen.state.metadata_location
        seen.read_again_at = began + _SHARE * (self._clock.now() - began)
        return seen.state

    def _may_be_stale(self, case: Case, seen: TableSeen) -> bool:
        """Whether the newest event that is known is older than promised by now: newer ones may have come since. Asked
        for no more often than the promise is long, nor than each minute."""
        promised, now = case.contract.freshness, self._clock.now()
        if promised is None or seen.newest_event is None or seen.looked_closer_at is None:
            return False
        return min(now - seen.newest_event, now - seen.looked_closer_at) > max(promised, _CLOSER_WHILE_WRONG)

    def _look_closer(self, table: TableName, seen: TableSeen, told: str) -> None:
        """Collect evidence that reads no rows, and diagnose."""
        began = self._clock.now()
        before = {(sign.code, sign.subject): sign.newest_wrong for sign in seen.closer}
        examined = self._examiner.examine(table, without_rows=True)
        signs = signs_in(examined.case, examined.diagnosis, patience=self._terms.patience)
        found = signs.told
        setup = self._observer.setup(table)
        lost = hidden_aside(setup, examined.case.observation)
        failed = next((lost for e in examined.case.evidence for lost in e.could_not_look if _has_failed(lost)), None)
        if failed is not None or lost:  # what was seen before is not gone because nobody could look for it
            new = {(sign.code, sign.subject) for sign in found}
            left = (sign for sign in seen.closer if sign.code != "blind" and (failed or sign.code not in PLAIN))
            found += tuple(sign for sign in left if (sign.code, sign.subject) not in new)
        found += self._blind_to(seen, EVIDENCE, failed)
        for source in sorted(ASIDE):
            found += self._blind_to(seen, source, lost.get(source))
        seen.closer, seen.closer_beside = found, signs.beside
        seen.suspicion = told
        seen.newest_event, seen.looked_closer_at = newest_event(examined.case), self._clock.now()
        is_new = any((sign.code, sign.subject) not in before for sign in seen.closer)
        may_change = bool(lost) or any(sign.is_urgent or sign.code in CONDITIONS for sign in seen.closer)
        wait = _CLOSER_WHILE_WRONG if may_change else self._terms.evidence_every
        if any(before.get((sign.code, sign.subject)) != sign.newest_wrong for sign in seen.closer):
            wait = self._terms.again
        now = self._clock.now()
        seen.closer_at = now + (self._terms.again if is_new else max(wait, _SHARE * (now - began)))

    def _blind_to(self, seen: TableSeen, source: str, missing: NotSeen | None) -> tuple[Sign, ...]:
        return blind_to(seen.unseen, source, missing, self._clock.now(), self._terms.patience)


def _quick(setup: TableSetup, state: TableState, jobs: Seen[JobRun] | NotSeen) -> Case:
    """The case of a quick look: the table as it is in hand, and what Flink tells."""
    quick = Observation(
        table=state,
        jobs=jobs,
        checkpoints=Seen[StoredCheckpoint](source=_NOT_ASKED.source, values=()) if setup.job is None else _NOT_ASKED,
        reads=Seen[ReadRun](source=_NOT_ASKED.source, values=()),
    )
    return build_case(setup, quick, propose_window(state, jobs).window, ())


def _has_failed(missing: NotSeen) -> bool:
    """Whether a task could not run to its end; a question that the contract leaves open is none of that."""
    return missing.source.startswith("evidence ")
