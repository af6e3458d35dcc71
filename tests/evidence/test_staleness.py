"""Evidence outlives newer commits of its own job, and nothing else."""

from datetime import UTC, datetime

from bot.domain.evidence import Ask, Evidence, Verdict
from bot.domain.findings import GapsFinding
from bot.domain.flink import JobRun
from bot.domain.ids import EvidenceId, SnapshotId
from bot.domain.looked import Seen
from bot.domain.staleness import Fresh, Stale, known_runs_of, staleness
from tests.evidence.test_ledger import run_of
from tests.tables import OrdersTable, job, rows

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def pinned(ask: Ask) -> Evidence:
    """Evidence of the table as it is in the ask."""
    return Evidence(
        verdict=Verdict.RULED_OUT,
        headline="Nothing is missing.",
        finding=GapsFinding(lowest=None, highest=None, positions=0, missing=0, gaps=()),
        id=EvidenceId("e-1"),
        task="missing_positions",
        task_version=1,
        question="Is anything missing?",
        metadata_location=ask.observation.table.metadata_location,
        head=ask.observation.table.head,
        window=ask.window,
        at=NOON,
        took_ms=1,
        bytes_read=0,
    )


def test_newer_commits_of_a_known_run_are_counted(orders: OrdersTable) -> None:
    """A streaming table does not stand still: the job's own commits leave the evidence fresh."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    evidence = pinned(orders.ask(before))
    orders.commits("a", 3, range(20, 30))
    orders.commits("a", 4, range(30, 40))

    assert staleness(evidence, orders.state(), {job("a")}) == Fresh(newer=2, runs=(job("a"),))


def test_a_commit_by_anyone_else_makes_it_stale(orders: OrdersTable) -> None:
    """Another engine's commit is named; so is an unknown run of Flink."""
    before = orders.commits("a", 1, range(10))
    evidence = pinned(orders.ask(before))
    orders.commits("b", 1, range(10, 20))
    by_run = staleness(evidence, orders.state(), {job("a")})
    orders.rolls_back_to(before)
    orders.appends(rows([99]))
    by_engine = staleness(evidence, orders.state(), {job("a"), job("b")})

    assert isinstance(by_run, Stale)
    assert "was committed since by job run bbbbbb" in by_run.reason
    assert isinstance(by_engine, Stale)
    assert "spark (no job id)" in by_engine.reason


def test_a_head_that_was_rolled_back_makes_it_stale(orders: OrdersTable) -> None:
    """The window itself has changed."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    evidence = pinned(orders.ask(before))
    orders.rolls_back_to(before)

    found = staleness(evidence, orders.state(), {job("a")})

    assert isinstance(found, Stale)
    assert "has been rolled back" in found.reason


def test_a_head_or_beginning_that_was_expired_makes_it_stale(orders: OrdersTable) -> None:
    """What is no longer listed cannot be read again."""
    before = orders.commits("a", 1, range(10))
    head = orders.commits("a", 2, range(10, 20))
    evidence = pinned(orders.ask(before))
    table = orders.state()
    without_head = table.model_copy(update={"snapshots": table.snapshots[:1], "head": before})
    without_beginning = table.model_copy(update={"snapshots": table.snapshots[1:], "head": head})

    reasons = [staleness(evidence, now, {job("a")}) for now in (without_head, without_beginning)]

    assert all(isinstance(reason, Stale) for reason in reasons)
    assert [("expired" in r.reason, "no longer an ancestor" in r.reason) for r in reasons if isinstance(r, Stale)] == [
        (True, False),
        (False, True),
    ]


def test_known_runs_are_those_of_the_job_and_those_of_the_window(orders: OrdersTable) -> None:
    """A run that Flink has forgotten is known by its commits; another job's run is not."""
    orders.commits("a", 1, range(10))
    other = run_of("c").model_copy(update={"name": "another job"})
    flink = Seen[JobRun](source="Flink", values=(run_of("b"), other))

    known = known_runs_of("orders", flink, orders.state().snapshots)

    assert known == {job("a"), job("b")}


def test_evidence_of_an_empty_table_is_fresh_while_it_is_empty(orders: OrdersTable) -> None:
    """The first commit ends it."""
    before = orders.commits("a", 1, range(10))
    evidence = pinned(orders.ask(before)).model_copy(update={"head": None})
    empty = orders.state().model_copy(update={"head": None})

    assert staleness(evidence, empty, ()) == Fresh(newer=0, runs=())
    assert isinstance(staleness(evidence, orders.state(), {job("a")}), Stale)
    assert orders.state().head == SnapshotId(before)
