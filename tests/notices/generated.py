"""Incidents that no story foresaw: what may happen next, by the record's own rules, and the table that goes with it."""

from collections.abc import Callable, Iterator
from datetime import timedelta

from bot.incident import entries as e
from bot.incident.doubt import doubted_since
from bot.incident.effects import Effect, KeepSavepoint, MoveTable, PublishBranch, StartJob
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.notice import PLANNED
from bot.incident.trust_claims import corrections_due
from bot.observation.contract import TableContract
from bot.observation.evidence import Verdict
from bot.observation.ids import CheckpointId, JobId, SnapshotId
from bot.observation.ledger import Ledger, LedgerRow
from bot.observation.table import TouchedPartitions
from tests import orders_table as orders
from tests.decisions import rewind
from tests.notices.course_entries import SECRET, CourseEntries
from tests.published import MENDED

CONTRACT = TableContract(key=("customer", "order_id"), position="pos", event_time="event_time", redacted=("customer",))
_S = ProposalState
PLANNED_WORK = (f"{PLANNED} planned", f"{PLANNED} over", f"{PLANNED} off")
_OVER = (_S.REJECTED, _S.VETOED, _S.EXPIRED, _S.SUPERSEDED, _S.REFUSED, _S.APPLIED)
Move = Callable[[], object]


class Course(CourseEntries):
    """One incident and its table, a step at a time."""

    def goes(self, *names: str) -> "Course":
        """These steps, each with what the duties see to after it: a table that was called in question is marked, and
        whoever was told that all is well hears when it is so no more. Returns the course."""
        for name in names:
            self.moves()[name]()
            incident = self.story.incident
            if incident.is_open and incident.waterline is None and doubted_since(incident) is not None:
                self.story.says(e.WaterlineMoved(snapshot=incident.opened.trusted, status="under-review"))
            if any(each.why == "taken-back" for each in corrections_due(self.story.incident)):
                self._tells("correction")
        return self

    def moves(self) -> dict[str, Move]:
        """What may come next."""
        return self.acts() | dict(self._looks())

    def acts(self) -> dict[str, Move]:
        """Of that, what may be done about a proposal."""
        incident = self.story.incident
        return dict(self._about(incident.current_proposal)) if incident.is_open else {}

    def _looks(self) -> Iterator[tuple[str, Move]]:
        story = self.story
        if not story.incident.is_open:
            for kind in ("correction", *PLANNED_WORK[1:]):
                yield f"tells {kind}", lambda kind=kind: self._tells(kind)
            return
        yield "ledger", lambda: story.draws_the_ledger(ledger(whole=True))
        yield "older ledger", lambda: story.draws_the_ledger(ledger(whole=False))
        yield "twice", lambda: self._counts(Verdict.CONFIRMED)
        yield "clean", lambda: self._counts(Verdict.RULED_OUT)
        yield "unclear", lambda: self._counts(Verdict.INCONCLUSIVE)
        yield "gaps", self._gaps
        yield (
            "no gaps",
            lambda: story.answers(
                "missing_positions", Verdict.RULED_OUT, columns=(), rows=(), head=SnapshotId(orders.HEAD - 1000)
            ),
        )
        yield "fails", story.fails
        yield "named", story.diagnoses
        yield "not named", self._cannot_tell
        yield "severity", self._severity
        for kind in ("warning", "update", "recovered", "no_action", *PLANNED_WORK):
            yield f"tells {kind}", lambda kind=kind: self._tells(kind)
        yield "reviews", story.reviews
        yield "reviews", self._reviews
        yield "closes", story.closes

    def _about(self, view: ProposalView | None) -> Iterator[tuple[str, Move]]:
        if view is None or view.state in _OVER:
            for name, effects in self._effects().items():
                yield f"proposes {name}", lambda effects=effects: self._proposes(effects)
        if view is None:
            return
        match view.state:
            case _S.PROPOSED | _S.HELD:
                yield "approves", lambda: self._approves(view)
                yield "rejects", lambda: self._ends(view, "rejected")
                yield "expires", lambda: self._ends(view, "expired")
            case _S.APPROVED:
                yield "begins", lambda: self._begins(view)
                yield "is done", lambda: self._carries_out(view)
                yield "superseded", lambda: self._ends(view, "superseded")
            case _S.EXECUTING:
                yield "goes on", lambda: self._goes_on(view)
                yield "refused", lambda: self._breaks(view, "refused")
                yield "unknown", lambda: self._breaks(view, "unknown")
            case _S.APPLIED if view.verified is None:
                yield "proven", lambda: self._verifies(view, passed=True)
                yield "not proven", lambda: self._verifies(view, passed=False)

    def _effects(self) -> dict[str, tuple[Effect, ...]]:
        if self._main == "damaged":
            publish = PublishBranch(
                table=orders.TABLE, branch="r-1", base=orders.HEAD, head=MENDED, keep_head_as="left", drop_branch=True
            )
            start = StartJob(job=orders.JOB, path=orders.SAVEPOINT_10, checkpoint_id=CheckpointId(10))
            keep = KeepSavepoint(
                table=orders.TABLE, job=orders.JOB, job_id=JobId(orders.RUN_A), tagged="20261103", plan=None
            )
            return {
                "savepoint": (keep,),
                "rewind": rewind(self.story.now).effects,
                "repair": (publish,),
                "job": (start,),
            }
        if self._main == "rewound":
            return {"undo": (MoveTable(table=orders.TABLE, to=orders.HEAD, keep_head_as="left-2"),)}
        return {}


def ledger(*, whole: bool) -> Ledger:
    """All commits with their times and partitions, the newest of run B only where it is `whole`."""
    rows = [_placed(row) for row in orders.ledger().rows]
    return Ledger(rows=tuple(rows if whole else rows[:-1]), readers_known=True)


def _placed(row: LedgerRow) -> LedgerRow:
    values = (("truncate[3](customer)", SECRET), ("region", "EU"), ("day(event_time)", "2026-11-03"))
    return row.model_copy(
        update={
            "event_from": row.committed_at,
            "event_until": row.committed_at + timedelta(seconds=59),
            "spec_ids": (1,),
            "partitions": tuple(TouchedPartitions(field=field, values=(value,)) for field, value in values),
        }
    )
