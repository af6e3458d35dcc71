"""Opens an incident: looks at the table first, so that the form already proposes the right window."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch

from bot.history.suspicion import propose_window
from bot.incident.asked import begin_of, listed
from bot.incident.entries import Body, EvidenceStopped, IncidentOpened, ResponderAssigned, RunbookChanged
from bot.incident.incident import Incident, already_open
from bot.incident.lowering import limited, limits_of
from bot.incident.runbook import RUNBOOKS_OF, Runbook
from bot.observation.errors import Refused
from bot.observation.ids import IncidentId, Severity, SnapshotId, TableName, UserId, short
from bot.observation.record import Record
from bot.observation.sentences import counted
from bot.observation.table import Window
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.watching.finding_store import WatchFindings


class Offer(Record):
    """What the opening form shows: a proposed window, the snapshot to trust until proven, and why."""

    table: TableName
    window: Window
    trusted: SnapshotId | None
    because: str
    commits: int
    """Commits in the proposed window."""
    metadata_location: str

    @property
    def window_in_words(self) -> str:
        """A clause."""
        if self.window.until is None:
            return "none, because main has no commits"
        return f"{counted(self.commits, 'commit')}, {begin_of(self.window)} up to {short(self.window.until)}"


@dataclass(eq=False)
class Opening:
    _store: IncidentStore
    _observer: Observer
    runbooks: Mapping[str, Runbook]
    _findings: WatchFindings | None = None
    """None: nothing is watched."""
    runs_evidence: bool = True
    """False: an incident's evidence waits for *Run all*."""

    @property
    def tables(self) -> tuple[TableName, ...]:
        return tuple(self._observer.tables)

    def runbooks_for(self, table: TableName) -> tuple[Runbook, ...]:
        """The runbooks that apply to a table (`applies_to` holds patterns such as `sales.*`), by title; planned
        work last."""
        found = tuple(b for b in self.runbooks.values() if any(fnmatch(table, p) for p in b.applies_to))
        if not found:
            raise Refused(
                f"No runbook applies to {table}.",
                f"Known are: {', '.join(self.runbooks) or 'none'}.",
                "Add a matching pattern to `applies_to` of one of them.",
            )
        return tuple(sorted(found, key=lambda book: book.is_planned))

    def offer(self, table: TableName) -> Offer:
        """Look at the table and propose a window, an empty one where nothing was ever committed; never trusted above
        what an earlier incident left under review, or the watch has found. Raises UnknownTable, CouldNotLook."""
        observation = self._observer.observe(table)
        theirs = tuple(each for each in self._store.all() if each.opened.table == table)
        found = self._findings.of(table, theirs) if self._findings is not None else ()
        limits = limits_of(observation.table, theirs, found)
        suspicion = limited(propose_window(observation.table, observation.jobs), limits, observation.table)
        return Offer(
            table=table,
            window=suspicion.window,
            trusted=suspicion.trusted,
            because=suspicion.because,
            commits=len(suspicion.window.of(observation.table)),
            metadata_location=observation.table.metadata_location,
        )

    def open(
        self,
        *,
        table: TableName,
        runbook: str,
        severity: Severity,
        channel: str,
        summary: str,
        by: UserId,
        since: str | None = None,
        private: bool = False,
    ) -> IncidentId:
        """Open it; `since` (exclusive, an id as people write it) overrides the proposed window. Who opens it
        responds. One open incident a table: another is Refused.

        Whether the channel of a private one is private is looked at by who knows channels.
        """
        chosen = self.runbooks.get(runbook)
        if chosen is None:
            raise Refused(f"There is no runbook {runbook}.", f"Known are: {', '.join(self.runbooks)}.", "Choose one.")
        existing = self._store.open_on(table)
        if existing is not None:
            raise already_open(existing)
        offer = self.offer(table)
        window = self._window(offer, since)
        opened = IncidentOpened(
            table=table,
            job=self._observer.setup(table).job,
            runbook=chosen,
            severity=severity,
            channel=channel,
            window=window,
            trusted=window.since if since is not None else offer.trusted,
            metadata_location=offer.metadata_location,
            summary=summary or offer.because,
            private=private,
        )
        try:
            incident = self._store.open(opened, by=by)
        except Refused as later:
            first = self._store.open_on(table)
            raise already_open(first) if first is not None else later from later
        stopped = () if self.runs_evidence else (EvidenceStopped(stopped=True),)
        self._store.write(incident.id, by=by, decide=lambda _i: [ResponderAssigned(user=by), *stopped])
        return incident.id

    def better_runbook(self, incident: Incident) -> Runbook | None:
        """The runbook of what the diagnosis names, where that shows other symptoms than the one that is walked; None
        also while a proposal is under way, and for planned work."""
        decisive = incident.diagnosis.decisive if incident.diagnosis is not None else None
        fitting = RUNBOOKS_OF.get(decisive[0].code, ()) if decisive is not None else ()
        is_busy = incident.unfinished is not None
        if is_busy or not incident.is_open or incident.runbook.is_planned or incident.runbook.id in fitting:
            return None
        table = incident.opened.table
        known = (self.runbooks[name] for name in fitting if name in self.runbooks)
        return next((book for book in known if any(fnmatch(table, p) for p in book.applies_to)), None)

    def change_runbook(self, incident_id: IncidentId, name: str, *, by: UserId) -> None:
        """Go on in this runbook, with the evidence that both ask for. Raises Refused once it fits no better."""

        def decide(incident: Incident) -> list[Body]:
            book = self.better_runbook(incident)
            if book is None or book.id != name:
                raise Refused("This runbook fits no better now.", "", "Use the newest card's buttons.")
            return [RunbookChanged(runbook=book)]

        self._store.write(incident_id, by=by, decide=decide)

    def _window(self, offer: Offer, since: str | None) -> Window:
        if since is None:
            return offer.window
        return Window(since=listed(since, self._observer.table(offer.table)), until=offer.window.until)
