"""One look at one table: the pointer first, then only what it or the job gives reason for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.diagnosis._support.examine import ModeModule, diagnose
from bot.history.case import Case
from bot.history.suspicion import propose_window
from bot.incident.recovery_deadline import deadline_of
from bot.incident.setup import TableSetup
from bot.incident.watch import WatchFinding
from bot.observation.errors import CouldNotLook, UnknownTable
from bot.observation.evidence import Observation
from bot.observation.findings import RecoveryDeadline
from bot.observation.flink import JobRun, StoredCheckpoint
from bot.observation.ids import TableName
from bot.observation.looked import NotSeen, Seen
from bot.observation.readers import ReadRun
from bot.observation.record import Record
from bot.observation.table import TableState
from bot.ports import Clock
from bot.service.diagnosing import build_case
from bot.service.examining import Examiner
from bot.service.observing import Observer
from bot.service.watching.findings import CONDITIONS, findings_in, suspicion
from bot.service.watching.unnamed import blind, newest_event

CATALOG, FLINK, EVIDENCE = "the table in its catalog", "Flink", "what evidence reads"
_POINTS, _MANIFESTS, _OTHERS = "the checkpoint storage", "the Flink manifests on storage", "the table's other jobs"
ASIDE = frozenset({_POINTS, _MANIFESTS, _OTHERS})
"""Sources that only a closer look asks."""
PLAIN = frozenset({"no-advance", "no-commit", "stale", "expiring"})
"""Codes of what table, Flink and evidence tell by themselves: whether it holds is known without those sources."""


def hidden_aside(setup: TableSetup, seen: Observation) -> dict[str, NotSeen]:
    """Those of `ASIDE` that could not be asked. A table without a job has no checkpoints, and no Flink manifests."""
    asked: dict[str, object] = {_OTHERS: seen.others}
    if setup.job is not None:
        asked |= {_POINTS: seen.checkpoints, _MANIFESTS: seen.flink_manifests}
    return {source: told for source, told in asked.items() if isinstance(told, NotSeen)}


_SHARE = 20
"""A table's metadata is read for at most one twentieth of the time, and judged and looked at closer for as much each: a
long history, or a full folder, makes looks rarer, not dearer."""
_CLOSER_WHILE_WRONG = timedelta(minutes=1)
_NOT_ASKED = NotSeen(source="what a quick look leaves out", reason="It was not looked at.", remedy="Look closer.")


class WatchTerms(Record):
    poll_interval: timedelta = timedelta(seconds=30)
    """Between two looks at a table."""
    again: timedelta = timedelta(seconds=5)
    """After so long a new finding is looked at again; it is told only if it still holds."""
    evidence_interval: timedelta = timedelta(minutes=10)
    """Evidence without rows is collected so often though nothing is suspicious."""
    grace_period: timedelta = timedelta(minutes=2)
    """How long a job may be down on purpose, a source silent, and a condition gone before it counts as over."""


@dataclass
class TableStatus:
    """What this process has seen of one table so far. Nothing of it is needed after a restart."""

    pointer: str = ""
    state: TableState | None = None
    read_again_at: datetime | None = None
    judge_again_at: datetime | None = None
    suspicion: str = ""
    closer_at: datetime | None = None
    closer: tuple[WatchFinding, ...] = ()
    """Of the newest closer look."""
    closer_beside: frozenset[str] = frozenset()
    """See `CaseFindings.beside`; of the newest closer look."""
    newest_event: datetime | None = None
    """As the newest closer look told it."""
    deadline: RecoveryDeadline | None = None
    """As of the newest closer look."""
    looked_closer_at: datetime | None = None
    unseen: dict[str, datetime] = field(default_factory=dict)
    """Source -> since when it could not be looked at."""


class TableCheck(Record):
    findings: tuple[WatchFinding, ...]
    beside: frozenset[str] = frozenset()
    """Codes of what holds and is not told by itself, because one of `findings` stands for it."""
    unseen: frozenset[str] = frozenset()
    """Sources that could not be looked at: what they tell of is not over because it was not seen."""

    @property
    def is_whole(self) -> bool:
        return not self.unseen

    def would_show(self, code: str) -> bool:
        """Whether that would have been seen if it were so."""
        return self.is_whole or (code in PLAIN and self.unseen <= ASIDE)


@dataclass(eq=False)
class TableMonitor:
    """Looks. Pure reading; what it remembers of a table is handed to it."""

    _observer: Observer
    _examiner: Examiner
    _modes: Mapping[str, ModeModule]
    _clock: Clock
    _terms: WatchTerms

    def look(self, table: TableName, seen: TableStatus) -> TableCheck | None:
        """None when there is nothing to be judged now: the table is empty, or was read or judged too short a while
        ago."""
        if seen.judge_again_at is not None and self._clock.now() < seen.judge_again_at:
            return None
        try:
            state = self._state(table, seen)
        except (CouldNotLook, UnknownTable) as error:
            reason = f"{error.happened} {error.found}".strip()
            missing = NotSeen(source=CATALOG, reason=reason, remedy=error.remedy)
            return TableCheck(findings=self._blind_to(seen, CATALOG, missing), unseen=frozenset(seen.unseen))
        self._blind_to(seen, CATALOG, None)
        if state is None or state.head is None:
            return None
        setup = self._observer.setup(table)
        jobs, began = self._observer.runs(setup), self._clock.now()
        case = _quick(setup, state, jobs)
        found = findings_in(case, diagnose(case, self._modes), grace_period=self._terms.grace_period)
        no_flink = jobs if isinstance(jobs, NotSeen) and setup.job is not None else None
        without_flink = self._blind_to(seen, FLINK, no_flink)
        told = suspicion(case)
        seen.judge_again_at = began + _SHARE * (self._clock.now() - began)
        is_due = seen.closer_at is None or self._clock.now() >= seen.closer_at or self._may_be_stale(case, seen)
        if told != seen.suspicion or is_due:
            self._look_closer(table, seen, told)
        known = {(finding.code, finding.subject) for finding in seen.closer}
        is_explained = any(finding.is_urgent and finding.code.startswith("F") for finding in seen.closer)
        more = tuple(finding for finding in found.told if (finding.code, finding.subject) not in known)
        beside = found.beside | seen.closer_beside
        if is_explained:
            beside |= {finding.code for finding in more}
            more = ()
        return TableCheck(
            findings=(*seen.closer, *more, *without_flink),
            beside=beside,
            unseen=frozenset(seen.unseen),
        )

    def _state(self, table: TableName, seen: TableStatus) -> TableState | None:
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

    def _may_be_stale(self, case: Case, seen: TableStatus) -> bool:
        """Whether the newest event that is known is older than promised by now: newer ones may have come since. Asked
        for no more often than the promise is long, nor than each minute."""
        promised, now = case.contract.freshness, self._clock.now()
        if promised is None or seen.newest_event is None or seen.looked_closer_at is None:
            return False
        return min(now - seen.newest_event, now - seen.looked_closer_at) > max(promised, _CLOSER_WHILE_WRONG)

    def _look_closer(self, table: TableName, seen: TableStatus, told: str) -> None:
        """Collect evidence that reads no rows, and diagnose."""
        began = self._clock.now()
        before = {(finding.code, finding.subject): finding.newest_wrong for finding in seen.closer}
        examined = self._examiner.examine(table, without_rows=True)
        findings = findings_in(examined.case, examined.diagnosis, grace_period=self._terms.grace_period)
        found = findings.told
        setup = self._observer.setup(table)
        lost = hidden_aside(setup, examined.case.observation)
        failed = next((lost for e in examined.case.evidence for lost in e.could_not_look if _has_failed(lost)), None)
        if failed is not None or lost:  # what was seen before is not gone because nobody could look for it
            new = {(finding.code, finding.subject) for finding in found}
            left = (
                finding for finding in seen.closer if finding.code != "blind" and (failed or finding.code not in PLAIN)
            )
            found += tuple(finding for finding in left if (finding.code, finding.subject) not in new)
        found += self._blind_to(seen, EVIDENCE, failed)
        for source in sorted(ASIDE):
            found += self._blind_to(seen, source, lost.get(source))
        seen.closer, seen.closer_beside = found, findings.beside
        seen.suspicion = told
        seen.deadline = deadline_of(examined.case, examined.diagnosis)
        seen.newest_event, seen.looked_closer_at = newest_event(examined.case), self._clock.now()
        is_new = any((finding.code, finding.subject) not in before for finding in seen.closer)
        may_change = bool(lost) or any(finding.is_urgent or finding.code in CONDITIONS for finding in seen.closer)
        wait = _CLOSER_WHILE_WRONG if may_change else self._terms.evidence_interval
        if any(before.get((finding.code, finding.subject)) != finding.newest_wrong for finding in seen.closer):
            wait = self._terms.again
        now = self._clock.now()
        seen.closer_at = now + (self._terms.again if is_new else max(wait, _SHARE * (now - began)))

    def _blind_to(self, seen: TableStatus, source: str, missing: NotSeen | None) -> tuple[WatchFinding, ...]:
        """Keep since when this source is missing (None: it is not); the finding of it, once that is long."""
        if missing is None:
            seen.unseen.pop(source, None)
            return ()
        now = self._clock.now()
        since = seen.unseen.setdefault(source, now)
        if now - since < self._terms.grace_period:
            return ()
        told = missing if source == FLINK else missing.model_copy(update={"source": source})
        return (blind(told, since),)


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
