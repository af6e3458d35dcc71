"""What each move of a generated incident writes into its record, by the record's own rules.

A record in memory, for many generated incidents: entries as the journal gives them, without its database.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from bot.incident import entries as e
from bot.incident.approval import Approval
from bot.incident.diagnosis import CannotTell, Diagnosis, ModeResult
from bot.incident.effects import Effect, KeepSavepoint, MoveTable, PublishBranch
from bot.incident.entries import Body
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.incident import Incident
from bot.incident.journal import GENESIS, Entry, Line
from bot.incident.notice import Notice, NoticeData
from bot.incident.savepoints import asked_state
from bot.incident.waterline import due_waterline
from bot.observation.errors import Refused
from bot.observation.evidence import Verdict
from bot.observation.findings import DuplicatesFinding, GapsFinding
from bot.observation.ids import IncidentId, ProposalId
from bot.observation.table import HeadMove, PartitionField, TableState
from bot.service.notices.policy import is_said_already, refuse_to_send
from tests import orders_table as orders
from tests.decisions import ANA, BEN, CHANNEL, F18, HEAD_AFTER, rewind
from tests.incidents import PROVEN_BY, Story
from tests.published import MENDED, table_published, table_rewound


class Notebook:
    """One incident."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def open(self, body: Body, *, by: str, at: datetime) -> Entry:
        return self.append(IncidentId("wl-1"), 0, [body], by=by, at=at)[0]

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        assert after_seq == len(self._entries)
        made = tuple(
            Entry(incident_id=incident, seq=after_seq + place, at=at, by=by, body=body, prev_hash=GENESIS, hash=GENESIS)
            for place, body in enumerate(bodies, start=1)
        )
        self._entries += made
        return made

    def entries(self, incident: IncidentId, after_seq: int = 0) -> tuple[Entry, ...]:
        return tuple(self._entries[after_seq:])

    def lines(self, incident: IncidentId) -> tuple[Line, ...]:
        """See the port; nothing here is proven."""
        return ()

    def ends(self) -> Mapping[IncidentId, int]:
        return {IncidentId("wl-1"): len(self._entries)}


SECRET = "ACME"
_FIELDS = tuple(
    PartitionField(words=words, name=name, type="string")
    for words, name in (("truncate[3](customer)", "customer_trunc"), ("region", "region"), ("day(event_time)", "day"))
)
KEPT = {"savepoint": "s-9", "checkpoint": "9", "snapshot": str(orders.GOOD), "tag": "savepoint-9", "code": "1.4"}
"""What the stop of run A left behind; run B has committed since."""
Writes = Callable[[Incident, TableState, str], str]
"""Incident, table and kind -> the text that a consumer is told."""


def blank(_incident: Incident, _table: TableState, _kind: str) -> str:
    """Where the text says nothing to the test."""
    return "*x*"


class CourseEntries:
    """One incident and its table, and the entries that a move writes."""

    def __init__(self, *, trusted: bool = True, planned: bool = False, writes: Writes = blank) -> None:
        self.story = Story(Notebook()).opens(trusted=orders.GOOD if trusted else None, planned=planned)
        self._writes = writes
        self._made = 0
        self._main = "damaged"

    @property
    def table(self) -> TableState:
        """As the effects that are done left it; partitioned by a hidden column, another one, and time."""
        words = tuple(field.words for field in _FIELDS)
        named = {"partitioning": words, "specs": {1: words}, "spec_fields": {1: _FIELDS}}
        found = {"damaged": orders.table_state, "published": table_published}.get(self._main, table_rewound)()
        if self._main == "brought-back":
            moved = HeadMove(at=self.story.now, snapshot_id=orders.HEAD)
            found = found.model_copy(update={"head": orders.HEAD, "head_moves": (*found.head_moves, moved)})
        return found.model_copy(update=named)

    def _proposes(self, effects: tuple[Effect, ...]) -> None:
        self._made += 1
        made = rewind(self.story.now)
        moves = any(isinstance(effect, MoveTable) for effect in effects)
        preview = made.preview if moves else made.preview.model_copy(update={"commits": 0, "rows": 0})
        changes = {"id": ProposalId(f"01JBQ5M7Z3T9K4X8V2N6R0P{self._made:03}"), "effects": effects, "preview": preview}
        self.story.says(e.ProposalMade(step=None, proposal=made.model_copy(update=changes)), by=ANA)

    def _approves(self, view: ProposalView) -> None:
        given = Approval(by=BEN, at=self.story.now, digest=view.proposal.digest)
        self.story.says(e.ProposalApproved(proposal=view.proposal.id, approval=given, complete=True), by=BEN)

    def _ends(self, view: ProposalView, how: str) -> None:
        ended = {"proposal": view.proposal.id, "how": how, "reason": "Not now."}
        self.story.says(e.ProposalEnded.model_validate(ended), by=BEN)

    def _begins(self, view: ProposalView) -> None:
        self.story.says(e.ExecutionStarted(proposal=view.proposal.id), by=BEN)
        self._settles()

    def _goes_on(self, view: ProposalView) -> None:
        """The next effect, or the end."""
        proposal, index = view.proposal, view.next_effect
        if index is None:
            self.story.says(e.ExecutionEnded(proposal=proposal.id, outcome="applied", sentence="It is done."))
        else:
            match proposal.effects[index]:
                case MoveTable(to=orders.GOOD):
                    self._main = "rewound"
                case MoveTable():
                    self._main = "brought-back"
                case PublishBranch():
                    self._main = "published"
            self.story.says(e.EffectStarted(proposal=proposal.id, index=index, expected_head=orders.HEAD))
            result = KEPT if isinstance(proposal.effects[index], KeepSavepoint) else {}
            done = e.EffectEnded(proposal=proposal.id, index=index, how="done", detail="Done.", result=result)
            self.story.says(done)
        self._settles()

    def _carries_out(self, view: ProposalView) -> None:
        """From the beginning to the end."""
        self._begins(view)
        while (now := self.story.incident.current_proposal) is not None and now.state is ProposalState.EXECUTING:
            self._goes_on(now)

    def _breaks(self, view: ProposalView, how: str) -> None:
        if view.next_effect is None:
            return
        proposal, index = view.proposal.id, view.next_effect
        self.story.says(e.EffectStarted(proposal=proposal, index=index))
        ended = {"proposal": proposal, "index": index, "how": how, "detail": "Nobody knows."}
        self.story.says(e.EffectEnded.model_validate(ended))
        outcome = {"proposal": proposal, "outcome": how, "sentence": "It ended early."}
        self.story.says(e.ExecutionEnded.model_validate(outcome))
        self._settles()

    def _verifies(self, view: ProposalView, *, passed: bool) -> None:
        head = MENDED if self._main == "published" else HEAD_AFTER
        back = self._main in ("brought-back", "damaged")
        keeps = any(isinstance(effect, KeepSavepoint) for effect in view.proposal.effects)
        proof = e.Verified(
            proposal=view.proposal.id, passed=passed, evidence=(PROVEN_BY,), head=orders.HEAD if back else head,
            checks=(e.Check(name="no duplicates", passed=passed, sentence="Every order id lives once."),),
            moves_waterline="no" if keeps else "under-review" if back else "trusted",
        )  # fmt: skip
        self.story.says(proof)
        self._settles()

    def _settles(self) -> None:
        """The waterline goes where the record asks for it, as the duties see to."""
        owed, now = due_waterline(self.story.incident), self.story.incident.waterline
        if owed is not None and (now is None or (owed.status, owed.snapshot) != (now.status, now.snapshot)):
            self.story.says(owed)

    def _counts(self, verdict: Verdict) -> None:
        keys = 200 if verdict is Verdict.CONFIRMED else 0
        found = DuplicatesFinding(rows_checked=900, keys=keys, extra_rows=keys, pairs=())
        self.story.answers(
            verdict=verdict, finding=None if verdict is Verdict.INCONCLUSIVE else found,
            columns=("customer", "order_id", "copies"), rows=((SECRET, "4711", "2"),) if keys else (),
        )  # fmt: skip

    def _gaps(self) -> None:
        gaps = GapsFinding(lowest=1, highest=900, positions=890, missing=10, gaps=())
        self.story.answers("missing_positions", finding=gaps, columns=(), rows=())

    def _cannot_tell(self) -> None:
        told = ModeResult(mode=F18, examined=CannotTell(missing=("The positions of the source.",)))
        self.story.says(e.Diagnosed(diagnosis=Diagnosis(results=(told,))))

    def _severity(self) -> None:
        before = self.story.incident.severity
        after = {"sev1": "sev2", "sev2": "sev3", "sev3": "sev1"}[before]
        changed = {"before": before, "severity": after, "reason": "Finance <reads> it."}
        self.story.says(e.SeverityChanged.model_validate(changed), by=ANA)

    def _reviews(self) -> None:
        line = e.Finding(
            contract="table", term="One row per key.", observed="200 keys live twice.", holds=False, action="Upsert."
        )
        self.story.says(e.ReviewOpened(findings=(line,)), by=ANA)

    def _tells(self, kind: str) -> None:
        """Where it may be told now."""
        incident = self.story.incident
        kind, work = asked_state(incident, kind)
        earlier = [view for view in incident.notices.values() if view.notice.kind == kind]
        notice = Notice(
            kind=kind, revision=len(earlier) + 1, consumer="revenue_daily", channel=CHANNEL,
            text=self._writes(incident, self.table, f"{kind} {work}" if work else kind), severity=incident.severity,
            data=NoticeData(stage="investigating", work=work) if work else None,
        )  # fmt: skip
        try:
            refuse_to_send(incident, "previewed", [notice])
        except Refused:
            return
        if not is_said_already(kind, earlier, incident):
            self.story.says(e.NoticeQueued(notice=notice))
