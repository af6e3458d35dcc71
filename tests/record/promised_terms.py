"""Evidence about what a contract promises, and the terms that a review finds."""

from datetime import timedelta

from bot.domain.entries import Finding
from bot.domain.evidence import Observation, Verdict
from bot.domain.findings import ContractAgreementFinding, FreshnessFinding, LateRowsFinding, Term
from bot.domain.flink import CheckpointSettings
from bot.domain.review import review
from tests import orders_table as orders
from tests.incidents import Story

MINUTE = timedelta(minutes=1)
FRESH = "The newest event is at most 15 min old."
LATE = "No row comes later than 5 min after newer ones."
SETTINGS = CheckpointSettings(mode="exactly_once", survives_cancel=True)
KEPT = "Snapshots are kept as long as the restore points that pair with them."


def terms(story: Story, world: Observation | None = None, **contract: object) -> dict[str, Finding]:
    """Term -> finding, under this contract."""
    promised = orders.contract().model_copy(update=contract)
    return {each.term: each for each in review(story.incident, world or orders.observation(), promised)}


def fresh(story: Story, age_s: float | None, headline: str = "It is known.") -> Story:
    """The evidence `freshness` answers."""
    finding = FreshnessFinding(
        newest_commit=orders.HEAD, commit_age_s=60, event_age_s=age_s, promised_s=900, promised_cadence_s=None,
        commits_checked=3, is_event_time_stuck=False,
    )  # fmt: skip
    return story.answers("freshness", Verdict.RULED_OUT, headline=headline, finding=finding)


def late(story: Story, worst_s: float | None, *, allowed_s: float = 300) -> Story:
    """The evidence `late_rows` answers."""
    finding = LateRowsFinding(
        rows_checked=900, late=0 if worst_s is None else 7, worst_s=worst_s, allowed_s=allowed_s, commits=()
    )
    verdict = Verdict.RULED_OUT if worst_s is None else Verdict.CONFIRMED
    return story.answers("late_rows", verdict, headline="7 of 900 rows came late.", finding=finding)


def agreed(story: Story, promise: str, holds: bool | None, *, of: str = "checkpoint") -> Story:
    """The evidence `contract_agreement` answers about one term."""
    told = {"of": of, "promise": promise, "observed": "It was looked at.", "holds": holds, "action": "Mend it."}
    finding = ContractAgreementFinding(terms=(Term.model_validate(told),))
    return story.answers("contract_agreement", headline="A term.", finding=finding)


def with_table(**changes: object) -> Observation:
    """The world with another table state."""
    world = orders.observation()
    return world.model_copy(update={"table": world.table.model_copy(update=changes)})


def expired(**changes: object) -> Observation:
    """The same without its first two commits."""
    return with_table(snapshots=orders.snapshots()[2:], **changes)
