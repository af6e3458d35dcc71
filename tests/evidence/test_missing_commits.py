"""Checkpoint ids without a commit on main, and commits of other branches: each with its reason."""

from collections.abc import Callable, Iterator

import pytest

from bot.history.rollbacks import Sinks
from bot.history.skipped_checkpoints import missing_before
from bot.observation.evidence import Ask, Verdict
from bot.observation.flink import CheckpointKind, FlinkManifest, JobRun
from bot.observation.ids import DRAINED, CheckpointId, short, short_job
from bot.observation.ledger import SkippedCheckpoint, SkipReason
from bot.observation.looked import NotSeen
from bot.observation.table import Snapshot
from spark_tasks.ledger import missing_after
from tests.evidence.conftest import Asks
from tests.evidence.flink_words import V1, V2, done, manifest, run
from tests.evidence.histories import write
from tests.evidence.test_ledger import ledger_of, run_of
from tests.tables import OrdersTable, job, of_flink, of_table, rows, unseen

SAVEPOINT = CheckpointKind.SAVEPOINT


def told(found: tuple[SkippedCheckpoint, ...]) -> list[str]:
    """`7–10 skipped` for each."""
    return [each.words for each in found]


def before_head(ask: Ask) -> list[str]:
    """The ids right before the newest commit."""
    world = ask.observation
    assert world.table.head is not None
    head = world.table.by_id[world.table.head]
    return told(missing_before(world, Sinks(world.jobs.values), [head]).get(head.snapshot_id, ()))


def after_head(ask: Ask) -> list[str]:
    """The ids beyond the newest commits."""
    return told(missing_after(ask.observation, Sinks(ask.observation.jobs.values), ask.window))


def commits(orders: OrdersTable, name: str, *checkpoints: int) -> None:
    """One small commit a checkpoint."""
    for checkpoint in checkpoints:
        orders.commits(name, checkpoint, range(2))


@pytest.mark.parametrize(
    ("flink", "manifests", "words"),
    [
        (run("a"), (), ["4–5 without a manifest"]),
        (run("a", sink=V1), (), ["4–5 merged"]),
        (run("a", sink=None), (), ["4–5 without a manifest"]),
        (run("a", done(4, status="FAILED")), (), ["4 failed", "5 without a manifest"]),
        (run("a", done(5, SAVEPOINT), sink=V1), (), ["4 merged", "5 savepoint"]),
        (run("a", done(5, SAVEPOINT), sink=V2), (), ["4–5 without a manifest"]),
        (run("a"), (manifest("a", 5),), ["4 without a manifest", "5 leaked"]),
        (run("a"), (manifest("b", 5),), ["4–5 without a manifest"]),
        (run("a"), unseen("storage"), ["4–5 unexplained"]),
    ],
    ids=["empty", "merged", "sink unknown", "failed", "V1 savepoint", "V2 savepoint", "leaked", "other run", "unseen"],
)
def test_ids_between_two_commits_have_their_reason(
    orders: OrdersTable, flink: JobRun, manifests: tuple[FlinkManifest, ...] | NotSeen, words: list[str]
) -> None:
    """Between checkpoint 3 and 6 of one run: what each source says of 4 and 5."""
    commits(orders, "a", 3, 6)

    assert before_head(orders.ask(None, jobs=[flink], flink_manifests=manifests)) == words


FAR = 10**14
WITHHELD = "a9[0:2] a10[0:2] b12[0:2]"
"""Run b began at 6 on a table at 10: V1 takes 7 to 10 for committed (F3); V2 judges by the new job id."""


@pytest.mark.parametrize(
    ("line", "jobs", "words"),
    [
        pytest.param("a3[0:2] a14[0:2]", [run("a")], ["4–13 without a manifest"], id="ten empty ones in a row"),
        pytest.param("a3[0:2] a15[0:2]", [run("a")], ["4–14 unexplained"], id="eleven need another reason"),
        pytest.param("a3[0:2] a4[0:2] back0 a5[0:2]", [run("a")], ["4 rolled back"], id="the job goes on above a hole"),
        pytest.param(
            WITHHELD, [run("b", sink=V1, restored=6), run("a", sink=V1)], ["7–10 skipped", "11 merged"], id="withheld"
        ),
        pytest.param(
            WITHHELD, [run("b", sink=V2, restored=6), run("a", sink=V2)], ["7–11 without a manifest"], id="V2 does not"
        ),
        pytest.param("a10[0:2] b11[0:2]", [run("b", sink=V1, restored=10)], [], id="a paired restart"),
        pytest.param(f"a5[0:2] a{DRAINED}[0:2]", [run("a", sink=V1)], [], id="the id that drain leaves is no gap"),
        pytest.param(
            f"a3[0:2] a{10 * FAR}[0:2]",
            [run("a", done(FAR, status="FAILED"))],
            [f"4–{FAR - 1} unexplained", f"{FAR} failed", f"{FAR + 1}–{10 * FAR - 1} unexplained"],
            id="a very long gap is not told id by id",
        ),
    ],
)
def test_ids_that_no_commit_of_main_carries(
    orders: OrdersTable, line: str, jobs: list[JobRun], words: list[str]
) -> None:
    """The sink commits every tenth empty checkpoint at the latest."""
    write(orders, line)

    assert before_head(orders.ask(None, jobs=jobs)) == words


def test_the_tables_own_allowance_counts(orders: OrdersTable) -> None:
    """`flink.max-continuous-empty-commits` of the table replaces ten."""
    commits(orders, "a", 3, 6)
    ask = orders.ask(None, jobs=[run("a")])

    strict = of_table(ask, properties={"flink.max-continuous-empty-commits": "1"})

    assert before_head(strict) == ["4–5 unexplained"]


def test_nothing_is_told_where_the_beginning_has_expired(orders: OrdersTable) -> None:
    """The run's commits before may have been expired: its restore point then says nothing of a first commit."""
    commits(orders, "a", 8, 12)
    ask = orders.ask(None, jobs=[run("a", restored=6)])

    cut = of_table(ask, snapshots=(ask.observation.table.snapshots[-1],))

    assert before_head(cut) == []


@pytest.mark.parametrize(
    ("flink", "manifests", "words"),
    [
        (lambda: run("a", done(6), done(7)), (), ["6–7 without a manifest"]),
        (lambda: run("a", done(6, ago_s=1)), (), ["6 pending"]),
        (lambda: run("a", done(6).model_copy(update={"took_ms": 3_599_000})), (), ["6 pending"]),
        (lambda: run("a", done(6)), (manifest("a", 6),), ["6 pending"]),
        (lambda: run("a", done(6), state="CANCELED"), (manifest("a", 6),), ["6 leaked"]),
        (lambda: run("a", done(6, SAVEPOINT), sink=V1), (), ["6 savepoint"]),
        (lambda: run("a", done(6, status="FAILED")), (), []),
        (lambda: run("a", *(done(n) for n in range(6, 17))), (), ["6–16 unexplained"]),
        (lambda: run("a", done(6)), unseen("storage"), ["6 unexplained"]),
        (lambda: run("a", done(4)), (), []),
        (lambda: run("a", done(2, ago_s=-60), done(1, ago_s=-60)), (), ["1–2 skipped"]),
    ],
    ids=[
        "empty", "just now", "took long", "waiting", "run ended", "savepoint", "failed", "many", "unseen", "older",
        "counter anew",
    ],
)  # fmt: skip
def test_what_flink_completed_beyond_the_last_commit_has_its_reason(
    orders: OrdersTable, flink: Callable[[], JobRun], manifests: tuple[FlinkManifest, ...] | NotSeen, words: list[str]
) -> None:
    """After checkpoint 5, and below it when the counter began anew under the same job id (F4). Flink is asked now,
    because some checkpoints completed a moment ago."""
    commits(orders, "a", 5)

    assert after_head(orders.ask(None, jobs=[flink()], flink_manifests=manifests)) == words


@pytest.mark.parametrize(
    ("carried", "completed", "words"),
    [(10, (7, 8), ["7–8 skipped"]), (DRAINED, (7, 8), ["7–8 skipped"]), (6, (7, 8), ["7–8 without a manifest"])],
    ids=["older savepoint", "drained", "paired"],
)
def test_a_v1_run_that_commits_nothing_is_withheld_by_what_the_table_carries(
    orders: OrdersTable, carried: int, completed: tuple[int, ...], words: list[str]
) -> None:
    """Restored from 6: below the id that the table carries nothing is committed, after a drain never (F3, F5)."""
    commits(orders, "a", carried)
    flink = run("b", *(done(n) for n in completed), sink=V1, restored=6)

    assert after_head(orders.ask(None, jobs=[flink])) == words


def test_a_window_that_ends_below_the_head_tells_nothing_of_what_came_after(orders: OrdersTable) -> None:
    """What Flink completed later may have been committed there."""
    commits(orders, "a", 5)
    ask = orders.ask(None, jobs=[run("a", done(6))])
    below = ask.window.until
    commits(orders, "a", 7)
    later = orders.ask(None, jobs=[run("a", done(6))])

    assert after_head(later.model_copy(update={"window": ask.window})) == []
    assert below != later.window.until


def test_each_range_names_its_run_and_what_showed_it(orders: OrdersTable) -> None:
    """A reader of the finding needs no other source."""
    commits(orders, "a", 3, 5)
    world = orders.ask(None, jobs=[run("a")], flink_manifests=(manifest("a", 4),)).observation

    [(found,)] = missing_before(world, Sinks(world.jobs.values), [world.table.chain[0]]).values()

    assert (found.first, found.last, found.reason) == (CheckpointId(4), CheckpointId(4), SkipReason.LEAKED)
    assert (found.job_id, found.detail) == ("a" * 32, "its Flink manifest is still on storage")


def test_main_is_walked_only_as_far_as_the_commit_before(orders: OrdersTable) -> None:
    commits(orders, "a", 1, 2, 3, 4, 6)
    world = orders.ask(None, jobs=[run("a")]).observation
    looked_at: list[CheckpointId | None] = []

    class Told(tuple[Snapshot, ...]):
        def __iter__(self) -> Iterator[Snapshot]:
            for snapshot in super().__iter__():
                looked_at.append(snapshot.checkpoint_id)
                yield snapshot

    head, *below = world.table.chain
    vars(world.table)["chain"] = Told((head, *below))
    sinks = Sinks(world.jobs.values)
    assert [words for found in missing_before(world, sinks, [head]).values() for words in told(found)] == [
        "5 without a manifest"
    ]
    assert looked_at[:3] == [6, 4, 3]
    assert 1 not in looked_at, "the table's history was read"


def test_commits_of_another_branch_are_counted_beside_the_chain(orders: OrdersTable, judges: Asks) -> None:
    """A job with `toBranch`, or rows that wait for an audit: no row of the ledger, no fault of main's chain."""
    orders.commits("a", 1, range(10))
    good = orders.commits("a", 2, range(10, 20))
    orders.branches_off("audit", good)
    for checkpoint in (3, 4):
        orders.appends(rows(range(20, 30)), of_flink("b", checkpoint), branch="audit")
    audited = orders.state().ref("audit")
    assert audited is not None

    answer = judges("ledger", orders.ask(None, jobs=[run_of("a")]))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline.endswith(
        "Not of main, and not included here: 2 commits on branch audit "
        f"(Flink run {short_job(job('b'))}, rows +20, at {short(audited)})."
    )
    [told] = ledger_of(answer).branches
    assert (told.branch, told.snapshot_id, told.commits, told.added_rows) == ("audit", audited, 2, 20)
    assert [row.checkpoint_id for row in ledger_of(answer).rows] == [1, 2]
    assert next(m.value for m in answer.measures if m.name == "on other branches") == 2


def test_a_branch_that_holds_what_main_had_is_nothing_else(orders: OrdersTable, judges: Asks) -> None:
    """A branch on a commit that was rolled back: the ledger tells that commit itself."""
    good = orders.commits("a", 1, range(10))
    lost = orders.commits("a", 2, range(10, 20))
    orders.branches_off("kept", lost)
    orders.rolls_back_to(good)

    answer = judges("ledger", orders.ask(None, jobs=[run_of("a")]))

    assert "branch" not in answer.headline
    assert "on other branches" not in {measure.name for measure in answer.measures}


def test_commits_that_two_branches_share_are_counted_once_and_every_writer_is_named(
    orders: OrdersTable, judges: Asks
) -> None:
    """An audit of an audit, by another engine."""
    good = orders.commits("a", 1, range(10))
    orders.branches_off("audit", good)
    orders.appends(rows(range(20, 30)), of_flink("b", 2), branch="audit")
    orders.branches_off("second", orders.state().ref("audit") or 0)
    orders.appends(rows(range(30, 35)), {"engine-name": "spark"}, branch="second")

    answer = judges("ledger", orders.ask(None, jobs=[run_of("a")]))

    assert next(m.value for m in answer.measures if m.name == "on other branches") == 2
    told = [(each.branch, each.commits, each.added_rows, each.engines) for each in ledger_of(answer).branches]
    assert told == [("audit", 1, 10, ()), ("second", 2, 15, ("spark",))]
    assert f"on branch second (Flink run {short_job(job('b'))} and spark, rows +15, at" in answer.headline


@pytest.mark.parametrize("task", ["duplicate_rows", "duplicate_files", "duplicate_commits", "extra_copies"])
def test_rows_that_stand_on_another_branch_as_well_are_no_duplicates(
    orders: OrdersTable, asks: Asks, task: str
) -> None:
    """The audit branch has the same rows, files and checkpoints by the same run: main has each once."""
    before = orders.commits("a", 1, range(10))
    orders.branches_off("audit", before)
    orders.appends(rows(range(10, 20)), of_flink("a", 2), branch="audit")
    orders.commits("a", 2, range(10, 20))

    assert asks(task, orders.ask(before, jobs=[run_of("a")])).verdict is Verdict.RULED_OUT
