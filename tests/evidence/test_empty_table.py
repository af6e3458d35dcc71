"""A table without a commit, windows of commits, and who wrote them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import bot.diagnosis
from bot.diagnosis._support.examine import diagnose, scan
from bot.evidence import check_answer
from bot.history.rollbacks import Sinks
from bot.history.suspicion import propose_window
from bot.incident.asked import asked_window
from bot.incident.diagnosis import CannotTell, Diagnosis, Matches
from bot.observation.contract import TableContract
from bot.observation.errors import Refused
from bot.observation.evidence import Answer, Ask, Verdict
from bot.observation.findings import ReadsFinding
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, OperatorId, SnapshotId
from bot.observation.ledger import Sink
from bot.observation.looked import NotSeen
from bot.observation.readers import ReadRun
from bot.observation.table import EMPTY, Snapshot, TableState, Window
from spark_tasks import duplicate_commits
from spark_tasks._support import reading as _reading
from spark_tasks._support.reading import renamed
from tests.cases import Tale
from tests.evidence.conftest import Asks
from tests.evidence.empty_tales import TALES, TASKS, answer_of, ask_of, case_of
from tests.evidence.flink_words import LONG_AGO, V1, V2, run
from tests.evidence.histories import write
from tests.evidence.test_ledger import run_of
from tests.evidence.test_missing_positions import BY_PARTITION
from tests.tables import CONTRACT, OPERATOR, ORDERS, OrdersTable, job, of_flink, unseen, with_fields

MODES = scan(bot.diagnosis)
NEEDS_NO_COMMIT = {
    "checkpoint_health",
    "checkpoint_pairing",
    "contract_agreement",
    "leaked_manifests",
    "missing_files",
    "recovery_extent",
}
DOWN = NotSeen(source="Flink, job orders", reason="It did not answer.", remedy="Look at it.")


def told(diagnosis: Diagnosis) -> dict[str, type]:
    """Code -> the kind of its answer."""
    return {result.mode.code: type(result.examined) for result in diagnosis.results}


@pytest.mark.parametrize("task", sorted(TASKS))
def test_every_task_answers(task: str) -> None:
    """Nothing breaks and nothing is read; only what needs no commit rules anything out or confirms it."""
    ask = ask_of(TALES["no rows come"]())

    answer = answer_of(task, ask)

    check_answer(TASKS[task].task, ask, answer)
    assert answer.verdict is Verdict.INCONCLUSIVE or task in NEEDS_NO_COMMIT
    if answer.verdict is Verdict.INCONCLUSIVE and task != "checkpoint_health":
        assert answer.could_not_look
    assert "no longer listed" not in answer.headline


@pytest.mark.parametrize("tale", sorted(TALES))
def test_it_is_never_healthy(tale: str) -> None:
    """Whatever its job does, every mode answers and none says that all is well."""
    diagnosis = diagnose(case_of(ask_of(TALES[tale]())), MODES)

    kinds = told(diagnosis)
    assert kinds["healthy"] is not Matches
    named = {"commits wait": ("F11",), "the run failed": ("no-advance",)}
    assert diagnosis.codes == named.get(tale, ())


def test_commits_that_wait_are_named() -> None:
    """The job runs and nothing commits: all its files lie in manifests, and none of them is lost."""
    diagnosis = diagnose(case_of(ask_of(TALES["commits wait"]())), MODES)

    [found] = [result.examined for result in diagnosis.results if isinstance(result.examined, Matches)]
    assert "30 completed checkpoints of run aaaaaa wait for their commit" in found.headline
    assert (found.rows, found.last_good) == ((), None)


def test_without_flink_nothing_is_known() -> None:
    """A job that cannot be asked leaves the symptom open."""
    kinds = told(diagnose(case_of(ask_of(Tale(), jobs=DOWN)), MODES))

    assert Matches not in kinds.values()
    assert {kinds[code] for code in ("F11", "no-advance", "wait")} == {CannotTell}


def test_an_incident_can_be_opened_on_it() -> None:
    """Over an empty window, with no snapshot that could be trusted."""
    tale = TALES["no rows come"]()

    proposed = propose_window(tale.table, tale.jobs)

    assert (proposed.window, proposed.trusted) == (EMPTY, None)
    assert proposed.because == "Main has no commits."
    assert EMPTY.of(tale.table) == ()


def test_it_stays_the_window_of_all_that_comes() -> None:
    """The incident's window begins with the first commit, once there is one."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)

    assert EMPTY.model_copy(update={"until": tale.head}).of(tale.table) == tuple(tale.snapshots)


@pytest.mark.parametrize("text", ["2h", "2026-11-21T12:00:00..", "..2026-11-21T12:00:00"])
def test_every_time_means_the_empty_window(text: str) -> None:
    """There is no commit that another bound could leave out."""
    assert asked_window(text, Tale().table) == EMPTY


@pytest.mark.parametrize("text", ["17", "17..18", "soon", ".."])
def test_what_names_no_window_is_still_refused(text: str) -> None:
    """An id that is not listed, or what is not understood."""
    with pytest.raises(Refused):
        asked_window(text, Tale().table)


@pytest.mark.parametrize(
    ("line", "since", "inside"),
    [
        pytest.param(
            "a1[0:10] a2[10:20] back0 a3[20:30]", 0, [1, 2],
            id="what was rolled back to the beginning descends from it, so it is under review",
        ),
        pytest.param(
            "a1[0:10] a2[10:20] back0 b2[10:20] b3[20:30]", 2, [3],
            id="an earlier incident's rolled-back commits stay listed for days, and are not this window's",
        ),
        pytest.param(
            "a1[0:10] a2[10:20] a3[20:30] back1 a4[30:40] back0 b2[10:50]", 0, [1, 2, 3, 4],
            id="two rollbacks after each other leave two branches",
        ),
        pytest.param(
            "a1[0:10] a2[10:20] back0 b2[10:30]", 1, [1, 2],
            id="from a snapshot that was rolled back, the last commit that both share bounds it",
        ),
    ],
)  # fmt: skip
def test_which_commits_are_of_a_window(orders: OrdersTable, line: str, since: int, inside: list[int]) -> None:
    """Numbers count the commits of the line."""
    _, commits = write(orders, line)

    found = Window(since=commits[since], until=commits[-1]).of(orders.state())

    assert [commits.index(s.snapshot_id) for s in found] == inside


def test_from_the_first_listed_commit_nothing_is_ruled_out_against_what_has_expired(
    orders: OrdersTable, asks: Asks
) -> None:
    """What the expired commit brought could have come again, been changed, or been newer; PyIceberg takes its id out
    of the commit above."""
    gone, first, _ = write(orders, "a1[0:100] a2[100:200] a3[200:300]").commits
    orders.expires(gone)
    tasks = ("replayed_rows", "corrected_rows", "late_rows", "schema_drift")

    told = {task: asks(task, orders.ask(None)) for task in tasks}

    assert {task: (answer.verdict, answer.could_not_look[0].source) for task, answer in told.items()} == dict.fromkeys(
        tasks, (Verdict.INCONCLUSIVE, f"what lay below snapshot {first} of sales.orders")
    )


def test_a_commit_that_names_an_expired_parent_is_not_the_first(orders: OrdersTable, asks: Asks) -> None:
    """Iceberg's own expiry leaves the parent's id, also above a commit without rows."""
    orders.commits("a", 1, range(100))
    table = orders.state()
    parented = with_fields(table, snapshots=[s.model_copy(update={"parent_id": 12345}) for s in table.snapshots])
    ask = orders.ask(None)
    above = ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": parented})})

    answer = asks("replayed_rows", above)

    assert answer.verdict is Verdict.INCONCLUSIVE


def test_below_the_very_first_commit_lies_nothing(orders: OrdersTable, asks: Asks) -> None:
    """It has no parent and counts no older row, so the window begins with the table."""
    write(orders, "a1[0:10] a2[10:20]")

    told = {asks(task, orders.ask(None)).verdict for task in ("replayed_rows", "corrected_rows")}

    assert told == {Verdict.RULED_OUT}


@pytest.fixture
def former(tmp_path: Path) -> Iterator[SnapshotId]:
    """The newest commit of the table that was dropped: its metadata is gone, and a window may still name it."""
    (tmp_path / "former").mkdir()
    table = OrdersTable(tmp_path / "former")
    table.commits("a", 1, range(100))
    yield table.commits("a", 2, range(100, 150))
    table.close()


def test_what_the_former_table_held_is_not_called_complete(orders: OrdersTable, asks: Asks, former: SnapshotId) -> None:
    """The new table begins at position 200: nobody knows what the former one had held before that. Expiry takes
    the oldest snapshots; where the first one is there, what the window names was of another table."""
    write(orders, "b1[200:250] b2[250:260]")

    missing = [asks("missing_positions", orders.ask(former, contract=each)) for each in (CONTRACT, BY_PARTITION)]
    told = [asks(task, orders.ask(former)) for task in ("replayed_rows", "late_rows", "corrected_rows")]

    assert {answer.verdict for answer in (*missing, *told)} == {Verdict.INCONCLUSIVE}
    assert all("No live row carries a position below 200" in answer.headline for answer in missing)
    former_or_left = "was of a former table of this name, or of a line that main has left"
    assert all(former_or_left in answer.headline for answer in told)


def test_a_table_that_was_filled_anew_from_the_beginning_misses_nothing(
    orders: OrdersTable, asks: Asks, former: SnapshotId
) -> None:
    """Nothing lies before position 0, whatever the former table held."""
    orders.commits("b", 1, range(200))

    assert asks("missing_positions", orders.ask(former)).verdict is Verdict.RULED_OUT


def measured(answer: Answer, name: str) -> float:
    """One number of the answer."""
    return next(measure.value for measure in answer.measures if measure.name == name)


@pytest.mark.parametrize("below", [1, 20], ids=["not all", "all"])
def test_files_are_said_to_be_live_once_in_what_was_compared(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, below: int
) -> None:
    """A copy in an older manifest is not seen: the sentence must not cover it."""
    monkeypatch.setattr(_reading, "MANIFESTS_BELOW", below)
    before, _ = write(orders, "a1[0:10] a2[10:20] | a3[20:30]")

    answer = asks("duplicate_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert measured(answer, "manifests compared") == (2 if below == 1 else 3)
    assert answer.headline == "Each of 1 data file that the window added is live once" + (
        " in the 2 manifests compared; older ones were not." if below == 1 else "."
    )


@pytest.mark.parametrize(
    ("below", "said"),
    [
        (1, ", nor the one before the window; of older ones only those with the same checkpoint were compared."),
        (20, ", nor any of the 2 before the window."),
    ],
    ids=["not all", "all"],
)
def test_commits_are_said_to_repeat_none_of_those_compared(
    orders: OrdersTable, judges: Asks, monkeypatch: pytest.MonkeyPatch, below: int, said: str
) -> None:
    """Further down only a checkpoint that comes again leads to a comparison."""
    monkeypatch.setattr(duplicate_commits, "COMMITS_BELOW", below)
    orders.commits("a", 1, range(10))
    before = orders.commits("a", 2, range(10, 20))
    orders.commits("a", 3, range(20, 30))

    answer = judges("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert measured(answer, "commits compared") == 1 + min(below, 2)
    assert answer.headline == f"None of 1 commit repeats another one{said}"


BELOW = 23
"""More commits than any task looks below the window."""


def with_old_commits(ask: Ask) -> Ask:
    """The same, the commits below the window an hour or two older: a test makes them within seconds.

    A new state and no copy of the old one, which would bring along what that had worked out from its snapshots.
    """
    table = ask.observation.table
    hour, since = timedelta(hours=1), ask.window.since
    then = datetime.now(UTC) - 2 * hour
    inside = {commit.snapshot_id for commit in ask.window.of(table)}
    times = {c.snapshot_id: c.committed_at if c.snapshot_id in inside else then for c in table.snapshots}
    aged = tuple(
        commit.model_copy(update={"committed_at": times[commit.snapshot_id] + hour * (commit.snapshot_id == since)})
        for commit in table.snapshots
    )
    fields = {name: getattr(table, name) for name in TableState.model_fields}
    changed = TableState(**{**fields, "snapshots": aged})
    return ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": changed})})


def test_manifests_far_below_the_window_are_not_read(orders: OrdersTable, asks: Asks) -> None:
    """A table a hundred times older costs the same. The window holds two commits, and a manifest is leaked."""
    older = " ".join(f"a{number}[{10 * number}:{10 * number + 10}]" for number in range(1, BELOW + 1))
    since, commits = write(orders, f"{older} | a{BELOW + 1}[10000:10010] a{BELOW + 2}[10010:10020]")
    orders.leaves_manifest("a", BELOW + 3, {"next.parquet": range(10_020, 10_030)})
    ask = with_old_commits(orders.ask(since, jobs=[run_of("a")], flink_manifests=orders.flink_manifests()))
    for snapshot in commits[:2]:
        for manifest in orders.manifests_of(snapshot):
            manifest.unlink()
    tasks = ("duplicate_files", "duplicate_commits", "leaked_manifests", "orphan_files", "table_health")

    told = {task: asks(task, ask).verdict for task in tasks}

    assert told == dict.fromkeys(tasks, Verdict.RULED_OUT)


DYNAMIC = "sink-1 Pre Commit"
OTHER_OPERATOR = OperatorId("0f" * 16)


def commit(summary: dict[str, str], operation: str = "append") -> Snapshot:
    """A commit with that summary."""
    return Snapshot(
        snapshot_id=SnapshotId(1), parent_id=None, sequence_number=1, committed_at=LONG_AGO, operation=operation,
        manifest_list="", schema_id=0, summary=summary,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flink", "sink"),
    [
        ([run("a", sink=V1)], Sink.FLINK_V1),
        ([run("a", sink=V2)], Sink.FLINK_V2),
        ([run("a", sink=DYNAMIC)], Sink.FLINK_DYNAMIC),
        ([run("a", sink=None)], Sink.FLINK_UNKNOWN),
        ([], Sink.FLINK_UNKNOWN),
        ([run("b", sink=V1)], Sink.FLINK_V1),
        ([run("b", sink=V1, operator=OTHER_OPERATOR)], Sink.FLINK_UNKNOWN),
        ([run("a", sink=V2, operator=OTHER_OPERATOR)], Sink.FLINK_V2),
    ],
    ids=["V1", "V2", "dynamic", "no graph", "no run", "same operator, later run", "other run's sink", "its own graph"],
)
def test_a_flink_commit_is_told_by_its_operator_or_its_runs_graph(flink: list[JobRun], sink: Sink) -> None:
    """An operator keeps its id from run to run; without run and operator nothing is guessed."""
    assert Sinks(flink).of(commit(of_flink("a", 3))) is sink


def test_a_graph_with_two_kinds_of_sink_tells_only_by_the_operator() -> None:
    """The run writes elsewhere through another kind: its graph alone does not decide."""
    both = run("a", sink=V1)
    vertices = (*both.vertices, both.vertices[0].model_copy(update={"vertex_id": OTHER_OPERATOR, "name": V2}))
    sinks = Sinks([both.model_copy(update={"vertices": vertices})])

    assert sinks.of_run(JobId(job("a")), OPERATOR) is Sink.FLINK_V1
    assert sinks.of_run(JobId(job("a"))) is Sink.FLINK_UNKNOWN


@pytest.mark.parametrize(
    ("summary", "operation", "sink"),
    [
        ({"flink.batch-index": "0", "flink.checkpoint-id": "4"}, "append", Sink.FLINK_CDC),
        ({"kafka.connect.commit-id": "x"}, "append", Sink.KAFKA_CONNECT),
        ({"engine-name": "spark"}, "append", Sink.SPARK),
        ({"spark.app.id": "local-17"}, "delete", Sink.SPARK),
        ({"engine-name": "spark"}, "replace", Sink.COMPACTION),
        (of_flink("a", 3), "replace", Sink.COMPACTION),
        ({"engine-name": "flink"}, "append", Sink.FLINK_UNKNOWN),
        ({"engine-name": "trino"}, "append", Sink.OTHER),
        ({}, "append", Sink.OTHER),
    ],
)
def test_other_writers_are_told_by_their_summary(summary: dict[str, str], operation: str, sink: Sink) -> None:
    """A `replace` is a compaction whoever made it."""
    assert Sinks([run("a", sink=V1)]).of(commit(summary, operation)) is sink


def reads_of(answer: Answer) -> ReadsFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, ReadsFinding)
    return answer.finding


def read(orders: OrdersTable, snapshot: int | None, consumer: str = "revenue_daily", after_s: float = 60) -> ReadRun:
    """A run that read `snapshot` so many seconds after the newest commit."""
    newest: datetime = orders.state().snapshots[-1].committed_at
    told = None if snapshot is None else SnapshotId(snapshot)
    return ReadRun(
        consumer=consumer, run_id=f"{consumer}-{snapshot}", at=newest + timedelta(seconds=after_s), snapshot_id=told
    )


def trusting(ask: Ask, snapshot: SnapshotId | None) -> Ask:
    """The same, with the snapshot that consumers are told to pin to."""
    return ask.model_copy(update={"trusted": snapshot})


def test_reads_above_and_of_rolled_back_states_are_told(orders: OrdersTable, judges: Asks) -> None:
    """Also a read of a snapshot that was rolled back since; reads at or below the trusted one are not."""
    old = orders.commits("a", 1, range(10))
    trusted = orders.commits("a", 2, range(10, 20))
    lost = orders.commits("a", 3, range(20, 30))
    orders.rolls_back_to(trusted)
    above = orders.commits("b", 3, range(20, 30))
    runs = [
        read(orders, above, "fraud_features", 90),
        read(orders, lost),
        read(orders, trusted, "quiet"),
        read(orders, old, "pinned"),
    ]

    answer = judges("reads_above_waterline", trusting(orders.ask(old, reads=runs), trusted))

    found = reads_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert [(run.consumer, run.snapshot_id) for run in found.above] == [
        ("revenue_daily", lost),
        ("fraud_features", above),
    ]
    assert (found.trusted, found.runs_checked, found.not_told) == (trusted, 4, ())
    assert "1 run of them a state that was rolled back" in answer.headline


def test_reads_below_the_waterline_are_fine(orders: OrdersTable, judges: Asks) -> None:
    """Nobody read above, and every run's snapshot is known."""
    trusted = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = judges("reads_above_waterline", trusting(orders.ask(trusted, reads=[read(orders, trusted)]), trusted))

    assert answer.verdict is Verdict.RULED_OUT
    assert reads_of(answer).runs_checked == 1


def test_a_run_whose_snapshot_is_not_told_may_have_read_anything(orders: OrdersTable, judges: Asks) -> None:
    """Unless it came before the trusted snapshot was committed. An expired snapshot tells no more than none."""
    trusted = orders.commits("a", 1, range(10))
    early = read(orders, None, "early", after_s=-60)
    expired_early = read(orders, 4711, "expired", after_s=-60)
    orders.commits("a", 2, range(10, 20))
    runs = [early, expired_early]

    fine = judges("reads_above_waterline", trusting(orders.ask(trusted, reads=runs), trusted))
    unclear = judges(
        "reads_above_waterline",
        trusting(orders.ask(trusted, reads=[*runs, read(orders, None), read(orders, 4711)]), trusted),
    )

    assert fine.verdict is Verdict.RULED_OUT
    assert unclear.verdict is Verdict.INCONCLUSIVE
    assert [run.snapshot_id for run in reads_of(unclear).not_told] == [None, 4711]


def test_without_an_incident_the_tag_is_the_waterline(orders: OrdersTable, judges: Asks) -> None:
    """The table itself says what is trusted; with neither, nothing is judged."""
    trusted = orders.commits("a", 1, range(10))
    above = orders.commits("a", 2, range(10, 20))
    ask = orders.ask(trusted, reads=[read(orders, above)])

    untagged = judges("reads_above_waterline", ask)
    orders.tags("waterline", trusted)
    tagged = judges("reads_above_waterline", orders.ask(trusted, reads=[read(orders, above)]))

    assert untagged.verdict is Verdict.INCONCLUSIVE
    assert (tagged.verdict, reads_of(tagged).trusted) == (Verdict.CONFIRMED, trusted)


def test_a_lineage_source_that_is_down_rules_nothing_out(orders: OrdersTable, judges: Asks) -> None:
    """Could not look is not nothing found."""
    trusted = orders.commits("a", 1, range(10))

    answer = judges("reads_above_waterline", trusting(orders.ask(trusted, reads=unseen("Marquez")), trusted))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "Marquez"


def with_default(orders: OrdersTable, name: str, value: str) -> None:
    """Another engine adds the column: PyIceberg cannot, so the newest metadata file is written anew."""
    orders.adds_column(name)
    orders.becomes_format_3()
    path = Path(orders.catalog.load_table(ORDERS).metadata_location.removeprefix("file://"))
    told = json.loads(path.read_text())
    for field in (each for schema in told["schemas"] for each in schema["fields"]):
        field |= {"initial-default": value, "write-default": value} if field["name"] == name else {}
    path.write_text(json.dumps(told))


def test_records_known_by_such_a_column_are_not_acquitted(orders: OrdersTable, judges: Asks) -> None:
    """Read from the files alone, two rows of one record would seem to be of two."""
    orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    with_default(orders, "shop", "one")
    contract = TableContract(key=("order_id", "shop"), event_time="event_time")

    answer = judges("replayed_rows", orders.ask(None, contract=contract))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Column shop was added with a default" in answer.headline


def test_only_such_columns_are_left_out(orders: OrdersTable) -> None:
    """Others are in the files as they are in the table."""
    orders.commits("a", 1, range(10))
    with_default(orders, "shop", "one")

    table = orders.state()

    assert renamed(table, ["order_id", "customer"]) == ()
    assert [each.source for each in renamed(table, ["customer", "shop"])] == ["column shop of sales.orders"]
