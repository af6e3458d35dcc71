"""How far down the doubt of an incident reaches: while its table is under review, no snapshot above a named fault is
told as the one to read. Pure.

What stands in the way of believing a table good up to where its metadata shows nothing wrong: an earlier incident
that was closed without a proof, the table's own mark, and what the watch has found. Pure.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from bot.history.suspicion import Suspicion
from bot.incident.diagnosis import Diagnosis, LastGoodRows
from bot.incident.doubt import faults_in, names_all_commits, shows_wrong_rows, wrong_files
from bot.incident.entries import Body, Diagnosed, EvidenceRecorded, EvidenceRequested, WaterlineMoved
from bot.incident.incident import Incident
from bot.incident.trust import TrustState
from bot.incident.trust_claims import mark_of, newest_claim
from bot.incident.watch import ReportedFinding, WatchFinding
from bot.incident.waterline import due_waterline
from bot.observation.evidence import Evidence
from bot.observation.findings import DuplicatesFinding
from bot.observation.ids import EvidenceId, SnapshotId, short
from bot.observation.sentences import full_stop
from bot.observation.table import TableState


def due_mark(incident: Incident, table: TableState) -> WaterlineMoved | None:
    """Where `due_waterline` puts the mark; while the table is under review, never above a fault that was named since
    its last proof. No snapshot where nobody knows which one is right. None: the mark stays as it is.

    It goes down only, until the next proof: a later diagnosis that names a fault no more lifts nothing. Evidence of
    wrong rows that nobody has diagnosed yet moves it only where it names such rows below.
    """
    owed, mark = due_waterline(incident), incident.waterline
    is_trusted = mark is not None and mark.status == "trusted"
    if owed is None and (mark is None or is_trusted):
        return None
    if owed is not None and owed.status == "trusted":
        return owed
    begin = owed.snapshot if owed is not None and is_trusted else _named_last(incident)
    return WaterlineMoved(snapshot=lowered(incident, table, begin), status="under-review")


def lowered(incident: Incident, table: TableState, begin: SnapshotId | None) -> SnapshotId | None:
    """The newest snapshot at or below `begin` above which every fault lies that was named since the last proof; None
    where nobody knows one."""
    found = _Found()
    for entry in incident.entries:
        found.take(entry.body)
    good = begin
    for each in found.below:
        good = lower_of(table, good, each)
    below = {s.snapshot_id for s in table.ancestors(good)} if found.told else set()
    is_known = not found.unbounded and not any(_shown_below(one, below, table) for one in found.told)
    is_known = is_known and (found.is_placed or not _unexplained_places(found, table))
    is_known = is_known and not any(_may_reach_below(one, good, table) for one in found.unexplained)
    return good if is_known else None


def _unexplained_places(found: "_Found", table: TableState) -> bool:
    """Whether wrong rows lie at or below a snapshot by a fault that nobody has named a place for further down: that the
    mark began still lower says nothing of where they lie."""
    known = [each for each in found.below if each not in found.wrong.values()]

    def is_below(one: SnapshotId, other: SnapshotId) -> bool:
        return one != other and lower_of(table, one, other) == one

    return not all(any(is_below(one, each) for one in known) for each in found.wrong.values())


def _named_last(incident: Incident) -> SnapshotId | None:
    """Where the table came under review last, wherever a snapshot was named; else where it opened."""
    marks = (entry.body for entry in reversed(incident.entries) if isinstance(entry.body, WaterlineMoved))
    named = (mark.snapshot for mark in marks if mark.status != "trusted" and mark.snapshot is not None)
    return next(named, incident.opened.trusted)


def lower_of(table: TableState, one: SnapshotId | None, other: SnapshotId | None) -> SnapshotId | None:
    """The newest snapshot that both stand on; None where none is listed, and where one of them is None: then nobody
    knows one. What is not listed is older than all that is."""
    if one is None or other is None:
        return None
    if one not in table.by_id or other not in table.by_id:
        return one if one not in table.by_id else other
    below = {s.snapshot_id for s in table.ancestors(other)}
    return next((s.snapshot_id for s in table.ancestors(one) if s.snapshot_id in below), None)


@dataclass
class _Found:
    below: list[SnapshotId] = field(default_factory=list)
    """The newest snapshot before each fault that was named."""
    wrong: dict[str, SnapshotId] = field(default_factory=dict)
    """Code of a fault -> the snapshot before it, where that holds wrong rows by another fault."""
    unbounded: set[str] = field(default_factory=set)
    """Codes of faults of which nobody knows how far down they reach."""
    told: list[Evidence] = field(default_factory=list)
    """Evidence of what is wrong, until a diagnosis calls the rows before every fault that it names right."""
    undecided: list[Evidence] = field(default_factory=list)
    """The same, after which nobody has diagnosed yet."""
    unexplained: list[Evidence] = field(default_factory=list)
    """The same, where a diagnosis came since and named no fault."""
    asked: set[EvidenceId] | None = None
    """What was asked since the last proof; None: nothing is proven yet, and everything counts."""

    def take(self, body: Body) -> None:
        match body:
            case WaterlineMoved(status="trusted"):
                self.below, self.asked = [], set()
                self.told, self.undecided, self.unexplained = [], [], []
                self.wrong.clear()
                self.unbounded.clear()
            case EvidenceRequested(run=run) if self.asked is not None:
                self.asked.add(run)
            case EvidenceRecorded(run=run, evidence=evidence) if self.asked is None or run in self.asked:
                if shows_wrong_rows(evidence) or wrong_files(evidence):
                    self.told.append(evidence)
                    self.undecided.append(evidence)
            case Diagnosed(diagnosis=diagnosis):
                self._name(diagnosis)

    @property
    def is_placed(self) -> bool:
        """Whether all that shows wrong rows names the commits that brought them."""
        rows = [each for each in self.told if shows_wrong_rows(each)]
        return bool(rows) and all(map(names_all_commits, rows))

    def _name(self, diagnosis: Diagnosis) -> None:
        """A fault that is named anew is known as it was told last, unless less was looked at; one that is named no
        more, as it was."""
        faults = faults_in(diagnosis)
        self.unexplained = [] if faults else [*self.unexplained, *self.undecided]
        self.undecided = []
        if not faults:
            return
        if all(match.last_good_rows is LastGoodRows.CLEAN for _, match in faults):
            self.told = []
        for code in {mode.code for mode, match in faults if match.last_good_rows is not LastGoodRows.NOT_LOOKED_AT}:
            self.wrong.pop(code, None)
            self.unbounded.discard(code)
        for mode, match in faults:
            if match.last_good is None:
                self.unbounded.add(mode.code)
                continue
            self.below.append(match.last_good)
            if match.last_good_rows is LastGoodRows.WRONG:
                self.wrong[mode.code] = match.last_good


def _shown_below(evidence: Evidence, below: Set[SnapshotId], table: TableState) -> bool:
    """Whether it names wrong rows in these snapshots: a lost file of a commit that is no longer listed is, and rows of
    no commit are where it looked at one of them."""
    if shows_wrong_rows(evidence) and evidence.head in below:
        return True
    if any(commit in below or commit not in table.by_id for commit in wrong_files(evidence)):
        return True
    told = evidence.finding
    return isinstance(told, DuplicatesFinding) and any(pair.second in below for pair in told.pairs)


def _may_reach_below(evidence: Evidence, good: SnapshotId | None, table: TableState) -> bool:
    """Whether wrong rows may lie at or below the snapshot, where the evidence does not tell, nor any diagnosis since:
    then the next one does."""
    if not shows_wrong_rows(evidence) or names_all_commits(evidence):
        return False
    return good not in {s.snapshot_id for s in table.ancestors(evidence.window.since)}


@dataclass(frozen=True)
class Limit:
    """Nothing above the snapshot is to be believed good before it is proven; None: nothing at all."""

    snapshot: SnapshotId | None
    why: str
    """A sentence or two, which may be told to anybody."""


def limited(suspicion: Suspicion, limits: Sequence[Limit], table: TableState) -> Suspicion:
    """The same with the trusted snapshot no higher than any limit, and the window from there on at least. The reasons
    are said of those that count."""
    for limit in limits:
        trusted = lower_of(table, suspicion.trusted, limit.snapshot)
        if trusted == suspicion.trusted:
            continue
        least = f"Nothing above {short(trusted)} is" if trusted is not None else "No snapshot is"
        since = suspicion.window.since
        if trusted is not None and since is not None:
            since = lower_of(table, since, trusted) if trusted in table.by_id else None
        suspicion = Suspicion(
            window=suspicion.window.model_copy(update={"since": since}),
            trusted=trusted,
            because=f"{suspicion.because} {limit.why} {least} trusted until that is proven.",
        )
    return suspicion


def limits_of(
    table: TableState, incidents: Sequence[Incident], findings: Sequence[ReportedFinding]
) -> tuple[Limit, ...]:
    """`incidents`: those of this table, oldest first. `findings`: what the watch has found and nobody has looked into
    (`open_findings`)."""
    found: list[Limit] = []
    claim, mark = newest_claim(incidents), mark_of(table)
    is_claimed = claim is not None and claim.state is TrustState.UNDER_REVIEW
    if claim is not None and is_claimed:
        found.append(Limit(claim.snapshot, claim.why))
    is_same = claim is not None and is_claimed and mark.tag in (None, claim.snapshot)
    if mark.status == TrustState.UNDER_REVIEW.value and not is_same:
        found.append(Limit(mark.tag, "The table itself is marked as under review."))
    proven = mark.tag if mark.status == TrustState.TRUSTED.value and mark.tag in table.chain_ids else None
    found += (_of_finding(each.finding, proven) for each in findings)
    return tuple(found)


def _of_finding(finding: WatchFinding, proven: SnapshotId | None) -> Limit:
    """Where a finding does not tell how far down it goes, what was proven stands, and nothing above it."""
    headline = full_stop(finding.headline[:1].upper() + finding.headline[1:])
    return Limit(finding.good_until or proven, f"The monitor found {finding.code}: {headline}")
