"""Every checkpoint id without a commit on main is told with its reason, or as one that nothing explains."""

from collections.abc import Callable, Iterator

import pytest

from bot.domain.evidence import Ask
from bot.domain.flink import CheckpointKind, FlinkManifest, JobRun
from bot.domain.gone_commits import Sinks
from bot.domain.ids import DRAINED, CheckpointId
from bot.domain.ledger import SkippedCheckpoint, SkipReason
from bot.domain.looked import NotSeen
from bot.domain.table import Snapshot
from spark_tasks._missing_between import missing_before
from spark_tasks._missing_commits import missing_after
from tests.evidence.flink_words import V1, V2, done, manifest, run
from tests.tables import OrdersTable, unseen

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


def test_more_than_ten_in_a_row_are_not_called_empty(orders: OrdersTable) -> None:
    """The sink commits every tenth empty checkpoint at the latest; eleven without a commit need another reason."""
    commits(orders, "a", 3, 14)
    within = before_head(orders.ask(None, jobs=[run("a")]))
    commits(orders, "a", 26)

    beyond = before_head(orders.ask(None, jobs=[run("a")]))

    assert (within, beyond) == (["4–13 without a manifest"], ["15–25 unexplained"])


def test_the_tables_own_allowance_counts(orders: OrdersTable) -> None:
    """`flink.max-continuous-empty-commits` of the table replaces ten."""
    commits(orders, "a", 3, 6)
    ask = orders.ask(None, jobs=[run("a")])
    table = ask.observation.table.model_copy(update={"properties": {"flink.max-continuous-empty-commits": "1"}})

    strict = ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})

    assert before_head(strict) == ["4–5 unexplained"]


def test_a_commit_that_was_rolled_back_is_named_by_its_id(orders: OrdersTable) -> None:
    """The running job goes on above the hole."""
    commits(orders, "a", 3)
    kept = orders.head
    commits(orders, "a", 4)
    orders.rolls_back_to(kept)
    commits(orders, "a", 5)

    assert before_head(orders.ask(None, jobs=[run("a")])) == ["4 rolled back"]


@pytest.mark.parametrize(
    ("sink", "words"), [(V1, ["7–10 skipped", "11 merged"]), (V2, ["7–11 without a manifest"])], ids=["V1", "V2"]
)
def test_what_a_v1_sink_withheld_after_an_older_savepoint_is_skipped(
    orders: OrdersTable, sink: str, words: list[str]
) -> None:
    """Run b began at 6 on a table at 10: V1 takes 7 to 10 for committed (F3); V2 judges by the new job id."""
    commits(orders, "a", 9, 10)
    commits(orders, "b", 12)

    assert before_head(orders.ask(None, jobs=[run("b", sink=sink, restored=6), run("a", sink=sink)])) == words


def test_a_paired_restart_leaves_nothing_out(orders: OrdersTable) -> None:
    """Restored from 10 on a table at 10, next commit 11."""
    commits(orders, "a", 10)
    commits(orders, "b", 11)

    assert before_head(orders.ask(None, jobs=[run("b", sink=V1, restored=10)])) == []


def test_the_id_that_drain_leaves_is_no_gap(orders: OrdersTable) -> None:
    """Nine quintillion ids are not missing."""
    commits(orders, "a", 5, DRAINED)

    assert before_head(orders.ask(None, jobs=[run("a", sink=V1)])) == []


def test_nothing_is_told_where_the_beginning_has_expired(orders: OrdersTable) -> None:
    """The run's commits before may have been expired: its restore point then says nothing of a first commit."""
    commits(orders, "a", 8, 12)
    ask = orders.ask(None, jobs=[run("a", restored=6)])
    newest = ask.observation.table.snapshots[-1]
    table = ask.observation.table.model_copy(update={"snapshots": (newest,)})

    cut = ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})

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


def test_a_very_long_gap_is_one_range(orders: OrdersTable) -> None:
    """A gap is told by what sources say of it, not id by id."""
    commits(orders, "a", 3, 10**15)

    found = before_head(orders.ask(None, jobs=[run("a", done(10**14, status="FAILED"))]))

    assert found == [
        f"4–{10**14 - 1} unexplained", f"{10**14} failed", f"{10**14 + 1}–{10**15 - 1} unexplained",
    ]  # fmt: skip


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
