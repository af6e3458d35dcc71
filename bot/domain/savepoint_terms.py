"""The terms of a planned savepoint as they are shown before a yes, and kept on record word for word."""

from datetime import timedelta

from bot.domain.clock_time import clock_time
from bot.domain.ids import SnapshotId, TableName
from bot.domain.proposal import Term
from bot.domain.record import Record
from bot.domain.savepoint_entries import SavepointPlanned
from bot.domain.spans import span

ANYBODY = "whoever may carry out a proposal"


class AtProposal(Record):
    """What job and table say when the savepoint is proposed."""

    code: str | None
    """Version that Flink tells of the run; None where it tells none."""
    head: SnapshotId | None
    schema_id: int | None
    keeps: str
    """How long the contract keeps snapshots, a sentence."""
    consumers: tuple[str, ...]
    """Declared ones, by name."""


def planned_terms(plan: SavepointPlanned, now: AtProposal) -> tuple[Term, ...]:
    """Reason, code, snapshots, consumers, retention, people and end, in the order in which they are asked for."""
    return (
        Term(name="Reason", says=plan.reason),
        Term(name="Code", says=f"{plan.code_before} before, {plan.code_after} after.{_other_code(plan, now)}"),
        Term(name="Snapshots", says=_snapshots(plan, now)),
        Term(name="Consumers", says=_consumers(plan, now)),
        Term(name="Retention", says=f"{_tag_stays(f'until {plan.until:%Y-%m-%d}')} {plan.keeps or now.keeps}"),
        Term(name="May restore it", says=f"{restorers(plan)}."),
        *([Term(name="Over by", says=f"{clock_time(plan.over_by)}, as expected.")] if plan.over_by else []),
        Term(
            name="Counts until", says=f"{plan.until:%Y-%m-%d %H:%M} UTC; a restore from another point has to say why."
        ),
    )


def unplanned_terms(table: TableName, now: AtProposal, days: int) -> tuple[Term, ...]:
    """What is on record of a savepoint that nobody planned, and how to plan it first."""
    return (
        Term(
            name="Plan",
            says=f"none. To give it reason and end, reject this and type `/waterline savepoint {table}`.",
        ),
        Term(name="Code", says=f"{now.code or 'not told by Flink'} before; after is not said."),
        Term(name="Snapshots", says=_before_and_after(now)),
        Term(
            name="Consumers", says=f"{', '.join(now.consumers) or 'none declared'}; whether they were told is not said."
        ),
        Term(name="Retention", says=f"{_tag_stays(f'for {days} days')} {now.keeps}"),
        Term(name="May restore it", says=f"{ANYBODY}."),
        Term(name="Counts until", says=f"{days} days after it was taken."),
    )


def retention_sentence(keeps: timedelta | None) -> str:
    """How long the data contract keeps snapshots."""
    return f"The contract keeps snapshots for {span(keeps)}." if keeps else "The contract names no retention."


def restorers(plan: SavepointPlanned | None) -> str:
    """Who may start the job from it, without a full stop."""
    return ", ".join(f"<@{user}>" for user in plan.may_restore) if plan and plan.may_restore else ANYBODY


def _other_code(plan: SavepointPlanned, now: AtProposal) -> str:
    return f" But Flink says that {now.code} runs now." if now.code and now.code != plan.code_before else ""


def _snapshots(plan: SavepointPlanned, now: AtProposal) -> str:
    planned = f"{plan.head} when it was planned; " if plan.head not in {None, now.head} else ""
    return planned + _before_and_after(now)


def _before_and_after(now: AtProposal) -> str:
    schema = f", schema {now.schema_id}" if now.schema_id is not None else ""
    return f"{now.head} is the head now{schema}; the one that the stop commits is added when it is known."


def _consumers(plan: SavepointPlanned, now: AtProposal) -> str:
    missing = ", ".join(name for name in now.consumers if name not in plan.told)
    if not plan.told:
        return f"nobody was told yet, of {missing}." if missing else "none is declared."
    return f"{', '.join(plan.told)} told{f'; not told: {missing}' if missing else ''}."


def _tag_stays(how_long: str) -> str:
    return f"The tag keeps the snapshot {how_long}, longer while an incident of the table is open; then it is removed."
