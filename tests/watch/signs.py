"""CaseFindings as the watch sees them, for tests of what is made of them."""

from datetime import UTC, datetime

from bot.incident.watch import Muted, ReportedFinding, WatchFinding, finding_id
from bot.observation.ids import TableName

ORDERS = TableName("sales.orders")
NINE = datetime(2026, 11, 3, 9, 0, tzinfo=UTC)


def finding(code: str = "F2", subject: str = "bbbbbb", *, urgent: bool = True) -> WatchFinding:
    """A fault of run bbbbbb."""
    return WatchFinding(
        code=code,
        subject=subject,
        headline=f"Run {subject} was restored from checkpoint 3, although run aaaaaa had committed checkpoint 5.",
        reasons=("Checkpoint 5 is on the table already.", "Its source reads everything in between again."),
        advice="roll back table and job together",
        severity="sev2",
        runbook="duplicate-rows",
        is_urgent=urgent,
    )


def reported(of: WatchFinding, occasion: int = 0, at: datetime = NINE) -> ReportedFinding:
    """The finding, seen twice."""
    return ReportedFinding(id=finding_id(ORDERS, of, occasion), table=ORDERS, channel="C0INCIDENT1", finding=of, at=at)


def muted(until: datetime, at: datetime = NINE) -> Muted:
    """Ana wants to hear no more of it."""
    return Muted(id=f"{until:%H%M}-{at:%H%M}", table=ORDERS, until=until, by="U0ANA00001", at=at)
