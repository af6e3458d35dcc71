"""The proof, premise by premise: one story for each way in which it holds, fails, or stays open, and what is said."""

from collections.abc import Callable, Sequence

import pytest

from bot.diagnosis import healthy, source_positions_skipped, two_jobs_write_the_table
from bot.history.case import Case
from bot.history.proof import ROWS, Right, Unproven, Wrong, is_exact, prove, root
from bot.incident.diagnosis import CannotTell, Excluded, Matches
from bot.observation.evidence import Verdict
from bot.observation.findings import GapsFinding, PositionGap, RepeatedCommit, ReplayedRowsFinding
from bot.observation.flink import JobRun, RememberedStart
from bot.observation.ids import DRAINED, CheckpointId, OperatorId, SnapshotId
from bot.observation.ledger import SourceRange
from bot.observation.looked import Seen
from tests.cases import NOON, OPERATOR, Tale, job_id
from tests.found import repeats, ruled_out
from tests.tables import observing

TEN = 10
"""Rows of each commit of a tale."""
CHK = f"s3://state/{job_id('a')}/chk-3"


def running() -> Tale:
    """Run a has committed three checkpoints and goes on."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


def upgraded(checkpoint: int = 3) -> Tale:
    """Run b was restored from this checkpoint of run a."""
    tale = running().becomes("a", "CANCELED").flink_runs("b")
    return tale.came_from("b", checkpoint, f"s3://state/{job_id('a')}/chk-{checkpoint}")


def started_again() -> Tale:
    """Run a was started once more under its job id, from the checkpoint below its newest commit, which has no rows."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits("a", 3, rows=0).flink_runs("a")
    return tale.came_from("a", 2, CHK.replace("chk-3", "chk-2"))


def drained() -> Tale:
    """Run b goes on after a drained commit."""
    tale = running().commits("a", DRAINED).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=4)


def placed(case: Case, *lows: int) -> Case:
    """Each commit on main with ten positions from these on, in their order; without any, one after the other."""
    assert case.ledger is not None
    assert case.gaps is not None
    begins = iter(lows or range(0, TEN * len(case.ledger.rows), TEN))
    rows = [
        row.model_copy(update={"position_from": low, "position_until": low + TEN - 1})
        if row.on_main and row.added_rows and (low := next(begins, None)) is not None
        else row
        for row in case.ledger.rows
    ]
    highest = max(row.position_until for row in rows if row.position_until is not None)
    found = {
        "ledger": case.ledger.model_copy(update={"rows": tuple(rows)}),
        "gaps": case.gaps.model_copy(update={"highest": highest}),
    }
    return case.model_copy(update=found)


def looked_until(case: Case, until: SnapshotId) -> Case:
    """All evidence is of main at this commit."""
    evidence = tuple(ruled_out(case, task, until) for task in (*ROWS, "unreadable_files"))
    return case.model_copy(update={"evidence": evidence})


def again(tale: Tale, first: int, second: int, how: str) -> RepeatedCommit:
    told = {"first": tale.at("a", first), "again": tale.at("a", second), "how": how, "job_id": job_id("a")}
    return RepeatedCommit.model_validate({**told, "checkpoint_id": second, "rows": TEN})


def replayed(rows: int) -> ReplayedRowsFinding:
    return ReplayedRowsFinding(rows_checked=30, replayed=rows, changed=0, first=None, last=None, pairs=())


STARTED = RememberedStart(
    job="orders",
    job_id=job_id("a"),
    name="orders",
    started_at=NOON,
    restored=None,
    first_count=0,
    last_count=0,
    last_at=None,
    operator_ids=(),
    ended_at=None,
    first_seen=NOON,
)
"""Run a, without state."""


def forgotten(*, is_remembered: bool) -> Case:
    """Run b goes on from checkpoint 3 of run a, an hour later, though a's newest commit is 2: Flink lists a no more."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").forgets("a").flink_runs("b")
    case = placed(tale.came_from("b", 3, CHK).looked_at())
    return observing(case, remembered=(STARTED,) if is_remembered else ())


def idle(*empty: int) -> Case:
    """Run a brought nothing after checkpoint 3, committed these without rows, and was replaced from checkpoint 6."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.properties["flink.max-continuous-empty-commits"] = "1"
    tale.commits("a", *empty, rows=0).becomes("a", "FINISHED").flink_runs("b")
    return placed(tale.came_from("b", 6, CHK.replace("chk-3", "chk-6")).looked_at())


HOLDS: dict[str, Callable[[], Case]] = {
    "it brought the highest position": lambda: placed(running().looked_at()),
    "its restore point pairs with main's end": lambda: placed(upgraded().looked_at()),
    "it brought the highest position, wherever it began": lambda: placed(upgraded(2).commits("b", 4).looked_at()),
    "a run that was once seen to start": lambda: forgotten(is_remembered=True),
    "an idle job was restarted": lambda: idle(4, 5, 6),
    "nobody runs, and all was counted": lambda: placed(running().becomes("a", "FAILED").looked_at()),
}
FAILS: dict[str, tuple[Callable[[], Case], str]] = {
    "P1: keys twice": (lambda: placed(running().looked_at(duplicates=2)), "2 keys live more than once"),
    "P1: positions missing": (lambda: placed(running().looked_at(missing=3)), "3 source positions are missing"),
    "P3: ids that do not rise": (lambda: placed(running().commits("a", 3).looked_at()), "do not rise"),
    "P4: ids that its sink has had": (lambda: placed(started_again().looked_at()), "takes checkpoints up to 3 for"),
    "P5: two runs": (lambda: placed(running().flink_runs("b").looked_at()), "2 runs of the job are alive at once"),
}
OPEN: dict[str, tuple[Callable[[], Case], str]] = {
    "P1: not counted": (lambda: running().looked_at(gaps=None), "missing_positions of main as it is now"),
    "P2: below main's end": (lambda: placed(upgraded(2).looked_at()), "goes back to checkpoint 2"),
    "P2: behind by its rows": (
        lambda: placed(upgraded(1).commits("b", 2).looked_at(), 0, 10, 20, 15),
        "brought source positions",
    ),
    "P2: began without state": (
        lambda: placed(running().becomes("a", "CANCELED").flink_runs("b").looked_at()),
        "it started without state after …003003",
    ),
    "P2: a run that nobody saw start": (lambda: forgotten(is_remembered=False), "which Flink does not list"),
    "P2: an idle job's empty commits are not all listed": (lambda: idle(6), "of checkpoints 4 to 6 it would have"),
    "P2: of a drained run": (lambda: placed(drained().looked_at()), "is of a drained run"),
}


@pytest.mark.parametrize("tell", HOLDS.values(), ids=HOLDS)
def test_it_holds(tell: Callable[[], Case]) -> None:
    """Each way to show where the job stands."""
    found = prove(tell())

    assert isinstance(found, Right), found


@pytest.mark.parametrize(("tell", "said"), FAILS.values(), ids=FAILS)
def test_a_premise_that_fails_is_the_answer(tell: Callable[[], Case], said: str) -> None:
    """And the table is not called healthy."""
    case = tell()
    found = prove(case)

    assert isinstance(found, Wrong | Unproven), found
    assert said in (found.reason if isinstance(found, Wrong) else found.missing)
    assert not isinstance(healthy.examine(case), Matches)


@pytest.mark.parametrize(("tell", "said"), OPEN.values(), ids=OPEN)
def test_a_premise_that_nothing_shows_is_what_is_missing(tell: Callable[[], Case], said: str) -> None:
    """It is neither held for right nor for wrong."""
    found = prove(tell())

    assert isinstance(found, Unproven), found
    assert said in found.missing
    assert found.missing == found.missing.strip()


def test_of_several_repeats_the_sure_one_is_told() -> None:
    """That ranges touch is no proof, and hides none."""
    tale = running()
    told = repeats(again(tale, 1, 2, "same-source-range"), again(tale, 1, 3, "same-files"))

    found = prove(placed(tale.looked_at(duplicate_commits=told, replayed=replayed(0))))

    assert isinstance(found, Wrong)
    assert "…003003 brought again what …001001 had brought" in found.reason


def test_rows_that_came_again_are_not_acquitted_by_an_older_look() -> None:
    """`replayed_rows` found nothing before the commit in question was made."""
    tale = running()
    told = repeats(again(tale, 1, 3, "same-source-range"))
    case = placed(tale.looked_at(duplicate_commits=told, replayed=replayed(0)))
    before, after = (
        case.model_copy(update={"evidence": (ruled_out(case, "replayed_rows", tale.at("a", each)),)}) for each in (2, 3)
    )

    old, new = prove(before), prove(after)

    assert isinstance(old, Unproven)
    assert old.asks == ("replayed_rows",)
    assert isinstance(new, Right), new


def test_newer_commits_of_the_run_are_looked_at_for_what_they_leave_out() -> None:
    """The source may have lost records before it read them."""
    tale = running()
    until = tale.at("a", 3)
    tale.commits("a", 4)
    close, apart = (placed(tale.looked_at(), 0, 10, 20, low) for low in (30, 35))
    counted = {"gaps": close.gaps.model_copy(update={"highest": 29})} if close.gaps is not None else {}

    found = [prove(looked_until(case.model_copy(update=counted), until)) for case in (close, apart)]

    assert isinstance(found[0], Right), found[0]
    assert isinstance(found[1], Unproven)
    assert "whether positions are missing in …004004" in found[1].missing


def test_a_hidden_position_is_not_named() -> None:
    """Whatever is said of where the run stands."""
    tale = running().becomes("a", "CANCELED").flink_runs("b").commits("b", 1)
    case = placed(tale.looked_at(), 100, 110, 120, 90)
    redacted = case.contract.model_copy(update={"redacted": (case.contract.position,)})
    hidden = case.model_copy(update={"contract": redacted})

    shown, veiled = prove(case), prove(hidden)

    assert isinstance(shown, Unproven)
    assert isinstance(veiled, Unproven)
    assert "99" in shown.missing
    assert "99" not in veiled.missing


def test_a_task_that_could_not_answer_says_why_and_is_not_run_again() -> None:
    """Counting rows takes minutes; whoever reads it must know that somebody looked."""
    case = placed(running().looked_at())
    failed = ruled_out(case, "duplicate_rows", case.observation.table.head or SnapshotId(0))
    failed = failed.model_copy(
        update={"verdict": Verdict.INCONCLUSIVE, "headline": "Spark went away.", "finding": None}
    )
    case = case.model_copy(update={"duplicates": None, "evidence": (failed,)})

    found = healthy.examine(case)

    assert isinstance(found, CannotTell)
    assert "duplicate_rows (it ran and could not answer: Spark went away.)" in found.missing
    assert "duplicate_rows" not in found.asks


# ---------------------------------------------------------------------- a state that came by several runs


@pytest.mark.parametrize(("seen_from", "proof"), [((3,), Right), ((), Unproven), ((3, 2), Unproven)])
def test_a_failover_before_the_first_rows_hides_no_start_that_was_seen(seen_from: tuple[int, ...], proof: type) -> None:
    """Flink shows only that run b was set back to a checkpoint of its own; of two starts nobody knows which counts."""
    tale = upgraded()
    first = tale.runs["b"].restored
    assert first is not None
    tale.completes("b", 5).came_from("b", 5, f"s3://state/{job_id('b')}/chk-5")
    case = placed(tale.looked_at())
    told = {"job_id": job_id("b"), "started_at": case.runs[-1].started_at, "last_at": first.at}
    points = (first.model_copy(update={"checkpoint_id": CheckpointId(each)}) for each in seen_from)
    seen = tuple(STARTED.model_copy(update={**told, "restored": each}) for each in points)

    assert isinstance(prove(observing(case, remembered=seen)), proof)


def test_of_a_run_whose_rows_have_no_known_position_nothing_is_exact() -> None:
    """None of them was counted."""
    tale = running()
    case = looked_until(tale.looked_at(), tale.at("a", 1))
    parted = case.contract.model_copy(update={"position_partition": "split"})

    assert not is_exact(case.model_copy(update={"contract": parted}), job_id("a"))
    assert is_exact(placed(tale.looked_at()), job_id("a"))


def test_what_main_lost_under_a_run_speaks_against_where_it_stands() -> None:
    """Also before anything else of the proof is looked at."""
    assert isinstance(root(running().rolls_back_to("a", 1).case()), Wrong)
    assert root(running().case()) is None


# ---------------------------------------------------------------------- what lies below the commits that are listed


@pytest.mark.parametrize(
    ("tops", "highest", "proof"),
    [
        ({"0": 29, "1": 29}, 29, Right),
        ({"0": 29, "1": 49}, 49, Unproven),
        ({}, 29, Right),
        ({}, 49, Unproven),
    ],
    ids=[
        "it has brought them itself",
        "an expired commit brought one",
        "as an older record",
        "as an older record, too",
    ],
)
def test_the_highest_live_position_counts_whoever_brought_it(tops: dict[str, int], highest: int, proof: type) -> None:
    """A commit of a run beside this one has expired, and its rows live: this one reads them again."""
    tale = Tale().flink_runs("a").commits("a", 1).commits("b", 1).commits("a", 21, 22).expires("a", 1).expires("b", 1)
    gaps = GapsFinding(lowest=10, highest=highest, positions=40, missing=0, gaps=(), tops=tops)
    case = tale.looked_at(gaps=gaps)
    assert case.ledger is not None
    parts = [SourceRange(partition=each, low=10, high=29, rows=20) for each in ("0", "1")]
    rows = tuple(
        row.model_copy(update={"ranges": tuple(parts) if row.checkpoint_id == 22 else ()}) for row in case.ledger.rows
    )
    told = {
        "ledger": case.ledger.model_copy(update={"rows": rows}),
        "contract": case.contract.model_copy(update={"position_partition": "split"}),
    }

    assert isinstance(prove(case.model_copy(update=told)), proof)


# ---------------------------------------------------------------------- positions belong to a source, not to a table


OTHER_SINK = OperatorId("ee" * 16)


def beside_another(
    *lows: int,
    is_declared: bool = False,
    ends: bool = False,
    missing: Sequence[tuple[int, int]] = ((30, 999),),
    sink: OperatorId = OTHER_SINK,
) -> Case:
    """Run a and run z of another job commit by turns, ten positions each from these on. `missing`: these positions are
    in no row."""
    tale = Tale().flink_runs("a").commits("a", 1).commits("z", 1).by_sink(sink).commits("a", 2, 3)
    tale = tale.becomes("a", "FINISHED") if ends else tale
    rest = [PositionGap(first=first, last=last) for first, last in missing]
    gaps = GapsFinding(lowest=0, highest=0, positions=40, missing=sum(gap.size for gap in rest), gaps=tuple(rest))
    case = placed(tale.looked_at(gaps=gaps), *lows)
    run = case.runs[0].model_copy(update={"job_id": job_id("z"), "name": "backfill"})
    others = Seen[JobRun](source="Flink", values=(run,))
    seen = {"others": others} if is_declared else {"undeclared": others.values}
    return exactly(observing(case, **seen))


def exactly(case: Case) -> Case:
    """The same, with the rows of each range counted."""
    assert case.ledger is not None
    rows = [
        row
        if row.position_from is None or row.position_until is None
        else row.model_copy(
            update={
                "ranges": (SourceRange(partition=None, low=row.position_from, high=row.position_until, rows=TEN),),
            }
        )
        for row in case.ledger.rows
    ]
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": tuple(rows)})})


FAR_ABOVE = (0, 1000, 10, 20)


@pytest.mark.parametrize("sink", [OTHER_SINK, OPERATOR], ids=["a uid of its own", "the V2 sink's default"])
def test_a_gap_between_two_jobs_is_no_loss(sink: OperatorId) -> None:
    """Nobody has passed it, so nothing is to be replayed; whose rows they are has to be declared."""
    case = beside_another(*FAR_ABOVE, sink=sink)
    found = prove(case)

    assert isinstance(found, Unproven)
    assert "run zzzzzz of backfill, which `other_jobs` does not declare" in found.missing
    assert isinstance(source_positions_skipped.examine(case), Excluded)
    assert "not declared" in getattr(two_jobs_write_the_table.examine(case), "reason", "")


def test_a_table_with_two_declared_writers_can_be_right() -> None:
    """Each reads a source of its own."""
    assert isinstance(prove(beside_another(*FAR_ABOVE, is_declared=True)), Right)


@pytest.mark.parametrize("lows", [(0, 2000, 10, 1000), (0, 10, 20, 1000)], ids=["other rows above", "other rows below"])
def test_a_gap_within_what_the_job_has_brought_is_a_loss(lows: tuple[int, ...]) -> None:
    """Whatever else is on the table, and whether it is declared."""
    for is_declared in (False, True):
        case = beside_another(*lows, is_declared=is_declared)

        assert isinstance(prove(case), Wrong)
        assert isinstance(source_positions_skipped.examine(case), Matches)


def test_beside_a_loss_such_a_gap_is_not_replayed() -> None:
    """Only what the job has passed is."""
    case = beside_another(0, 1000, 10, 30, missing=((20, 29), (40, 999)))

    found = source_positions_skipped.examine(case)

    assert isinstance(prove(case), Wrong)
    assert found.headline.startswith("10 source positions")
    assert "the first gap is 20 to 29" in found.reasons[0]


def test_a_gap_below_another_job_counts_once_no_run_of_the_job_is_alive() -> None:
    """Then the other one may have taken over from it."""
    assert isinstance(prove(beside_another(*FAR_ABOVE, ends=True)), Wrong)


def test_a_gap_counts_while_it_is_not_known_what_the_job_brought_above() -> None:
    """Its newest commit may lie there."""
    case = beside_another(*FAR_ABOVE)
    assert case.ledger is not None
    *others, newest = case.ledger.rows
    untold = newest.model_copy(update={"ranges": None, "position_from": None, "position_until": None})
    ledger = case.ledger.model_copy(update={"rows": (*others, untold)})

    assert isinstance(prove(case.model_copy(update={"ledger": ledger})), Wrong)


@pytest.mark.parametrize("is_declared", [True, False])
def test_rows_of_a_declared_job_fill_no_hole_of_this_one(*, is_declared: bool) -> None:
    """They are of another source: the job left 10 to 19 out. One that nobody declares may have filled it."""
    found = prove(beside_another(0, 10, 20, 30, is_declared=is_declared, missing=()))

    assert isinstance(found, Unproven if is_declared else Right)
    assert not isinstance(found, Unproven) or "10 positions that only a job of `other_jobs` has" in found.missing
