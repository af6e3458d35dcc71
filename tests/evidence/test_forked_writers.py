"""Two runs on one table are told from an orderly hand-over."""

from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.findings import ForkedWritersFinding
from bot.domain.flink import JobRun, Restored
from bot.domain.ids import CheckpointId
from bot.domain.looked import Seen
from tests.evidence.conftest import Asks
from tests.evidence.test_ledger import NOON, run_of
from tests.tables import OPERATOR, OrdersTable, job, rows, unseen


def finding_of(answer: Answer) -> ForkedWritersFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, ForkedWritersFinding)
    return answer.finding


def ended(name: str) -> JobRun:
    """A run that is over."""
    return run_of(name).model_copy(update={"state": "FINISHED"})


def restored(name: str) -> JobRun:
    """A run that came up from savepoint 4."""
    origin = Restored(checkpoint_id=CheckpointId(4), at=NOON, is_savepoint=True, path="file:/state/savepoint-4")
    return run_of(name).model_copy(update={"restored": origin})


def test_two_runs_that_take_turns_are_a_fork(orders: OrdersTable, asks: Asks) -> None:
    """A run that comes back after another one committed was never stopped; commits alone show it."""
    before = orders.commits("a", 4, range(10))
    orders.commits("b", 5, range(10, 20))
    orders.commits("a", 5, range(10, 20))
    orders.commits("b", 6, range(20, 30))

    answer = asks("forked_writers", orders.ask(before, jobs=unseen("Flink")))

    found = finding_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.turns, found.forked) == (2, (job("a"), job("b")))
    assert [(w.job_id, w.commits, w.is_alive) for w in found.writers] == [(job("b"), 2, None), (job("a"), 1, None)]
    assert answer.headline == "Runs aaaaaa and bbbbbb take turns on main (2 times)."


def test_a_hand_over_is_no_fork(orders: OrdersTable, asks: Asks) -> None:
    """One run ends and the next goes on: no turn, and Flink says that only one is alive."""
    before = orders.commits("a", 3, range(10))
    orders.commits("a", 4, range(10, 20))
    orders.commits("b", 5, range(20, 30))
    orders.commits("b", 6, range(30, 40))

    answer = asks("forked_writers", orders.ask(before, jobs=[restored("b"), ended("a")]))

    found = finding_of(answer)
    assert answer.verdict is Verdict.RULED_OUT
    assert (found.turns, found.forked) == (0, ())
    assert [(w.is_alive, w.restored_path) for w in found.writers] == [(False, None), (True, "file:/state/savepoint-4")]
    assert answer.headline == "2 Flink runs wrote main in the window, one after the other."


def test_two_runs_alive_from_one_savepoint_are_a_fork_before_they_interleave(orders: OrdersTable, asks: Asks) -> None:
    """The second has committed nothing yet; it will."""
    before = orders.commits("a", 5, range(10))
    orders.commits("a", 6, range(10, 20))

    answer = asks("forked_writers", orders.ask(before, jobs=[restored("a"), restored("b")]))

    assert answer.verdict is Verdict.CONFIRMED
    assert (finding_of(answer).turns, finding_of(answer).forked) == (0, (job("a"), job("b")))
    assert "2 runs are alive together: aaaaaa (RUNNING) and bbbbbb (RUNNING)" in answer.headline
    assert answer.headline.endswith("all restored from /state/savepoint-4.")


def test_a_run_of_the_tables_other_job_from_the_same_savepoint_is_a_fork(orders: OrdersTable, asks: Asks) -> None:
    """It runs on another cluster under another name; one that began elsewhere may be meant."""
    before = orders.commits("a", 5, range(10))
    orders.commits("a", 6, range(10, 20))
    ask = orders.ask(before, jobs=[restored("a")])

    def beside(run: JobRun) -> Ask:
        others = Seen[JobRun](source="the other Flink", values=(run,))
        return ask.model_copy(update={"observation": ask.observation.model_copy(update={"others": others})})

    answer = asks("forked_writers", beside(restored("b")))

    assert answer.verdict is Verdict.CONFIRMED
    assert finding_of(answer).forked == (job("a"), job("b"))
    assert asks("forked_writers", beside(run_of("b"))).verdict is Verdict.RULED_OUT


def test_a_run_that_is_being_cancelled_is_not_at_work(orders: OrdersTable, asks: Asks) -> None:
    """While the old run is stopped and the new one comes up, nothing forks."""
    before = orders.commits("a", 5, range(10))
    orders.commits("a", 6, range(10, 20))
    leaving = run_of("a").model_copy(update={"state": "CANCELLING"})

    answer = asks("forked_writers", orders.ask(before, jobs=[run_of("b"), leaving]))

    assert answer.verdict is Verdict.RULED_OUT


def test_without_flink_an_orderly_main_is_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """A second run may be alive and about to commit."""
    before = orders.commits("a", 5, range(10))
    orders.commits("a", 6, range(10, 20))

    answer = asks("forked_writers", orders.ask(before, jobs=unseen("Flink")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "Flink"


def test_two_sinks_of_one_run_take_turns_and_are_no_fork(orders: OrdersTable, asks: Asks) -> None:
    """Each checkpoint comes twice on main, once from each; the job is one, and it is said."""
    other = {"flink.operator-id": "ee" * 16}
    before = orders.commits("a", 5, range(10))
    orders.commits("a", 5, range(100, 110), summary=other)
    orders.commits("a", 6, range(10, 20))
    orders.commits("a", 6, range(110, 120), summary=other)

    answer = asks("forked_writers", orders.ask(before, jobs=[run_of("a")]))

    found = finding_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.turns, found.forked, found.sink_turns, found.sinks) == (0, (), 2, (OPERATOR, "ee" * 16))
    assert answer.headline == (
        f"Sinks {OPERATOR[:6]} and eeeeee of run aaaaaa take turns on main (2 times): one job that writes the table "
        "through several sinks."
    )


def test_a_sink_that_follows_another_takes_no_turn(orders: OrdersTable, asks: Asks) -> None:
    """As where the operator's uid was changed (F12)."""
    before = orders.commits("a", 5, range(10))
    orders.commits("a", 6, range(10, 20), summary={"flink.operator-id": "ee" * 16})
    orders.commits("a", 7, range(20, 30), summary={"flink.operator-id": "ee" * 16})

    answer = asks("forked_writers", orders.ask(before, jobs=[run_of("a")]))

    assert (answer.verdict, finding_of(answer).sink_turns) == (Verdict.RULED_OUT, 0)


def test_another_engine_that_appends_beside_the_job_is_told_apart_from_a_fork(orders: OrdersTable, asks: Asks) -> None:
    """A Spark append between two commits of one run is another writer, not another run of the job."""
    before = orders.commits("a", 5, range(10))
    orders.commits("a", 6, range(10, 20))
    orders.appends(rows(range(500, 510)))
    orders.commits("a", 7, range(20, 30))

    answer = asks("forked_writers", orders.ask(before, jobs=[run_of("a")]))

    found = finding_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert [(w.engine, w.commits) for w in found.writers] == [("flink", 2), ("spark", 1)]
    assert (found.turns, found.forked, found.engine_turns, found.engines) == (0, (), 1, ("spark",))
    assert answer.headline == (
        "Spark appends between commits of run aaaaaa (once): another engine writes beside the job."
    )


def test_an_append_between_two_runs_had_the_table_for_itself(orders: OrdersTable, asks: Asks) -> None:
    """A backfill while the job is stopped, as it should be."""
    before = orders.commits("a", 5, range(10))
    orders.appends(rows(range(500, 510)))
    orders.commits("b", 6, range(10, 20))

    answer = asks("forked_writers", orders.ask(before, jobs=[run_of("b"), ended("a")]))

    assert (answer.verdict, finding_of(answer).engine_turns) == (Verdict.RULED_OUT, 0)
    assert answer.headline == "1 Flink run wrote main in the window; 1 commit by spark."


def test_what_only_deletes_or_compacts_is_no_writer(orders: OrdersTable, asks: Asks) -> None:
    """What another engine took off is told by the ledger and by F21."""
    before = orders.commits("a", 5, range(10))
    orders.commits("a", 6, range(10, 20))
    orders.deletes("order_id < 5")
    orders.appends(rows(range(20, 25)), {"source-snapshot-id": str(before)})
    orders.commits("a", 7, range(25, 30))

    answer = asks("forked_writers", orders.ask(before, jobs=[run_of("a")]))

    assert (answer.verdict, finding_of(answer).engines) == (Verdict.RULED_OUT, ())
    assert "delete" not in {orders.state().by_id[w.first].operation for w in finding_of(answer).writers}


def test_a_run_whose_commits_were_rolled_back_does_not_count(orders: OrdersTable, asks: Asks) -> None:
    """After a rewind the wrong run is not on main any more."""
    before = orders.commits("a", 5, range(10))
    orders.commits("b", 5, range(5, 15))
    orders.rolls_back_to(before)
    orders.commits("c", 6, range(10, 20))

    answer = asks("forked_writers", orders.ask(before, jobs=[run_of("c"), ended("b"), ended("a")]))

    assert answer.verdict is Verdict.RULED_OUT
    assert [w.job_id for w in finding_of(answer).writers] == [job("c")]
