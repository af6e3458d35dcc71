"""The source of the made-up histories: what each of its partitions gives, once and again."""

from dataclasses import replace
from random import Random

from bot.observation.evidence import Verdict
from tests.cases import job_id
from tests.diagnosis.histories import operators
from tests.diagnosis.histories.drawn import plan_of, played
from tests.diagnosis.histories.held import case_for
from tests.diagnosis.histories.history import History, Setting
from tests.diagnosis.histories.looked import look, look_again, ranges
from tests.diagnosis.histories.shown import case_shown
from tests.diagnosis.histories.source import STRIDE, Source, by_partition, has_passed
from tests.diagnosis.histories.truth import truth_of, truth_since


def test_who_reads_again_gets_the_same_records_of_each_partition() -> None:
    """In another order, perhaps: one partition may be further along than it was."""
    source = Source(3)
    source.draw.seed(1)
    once, after = source.gives(source.zero, 12, source.every)

    again, stand = source.gives(source.zero, 40, source.every)

    assert all(has_passed(stand, each) for each in once if has_passed(after, each))
    assert set(once) <= set(again) == source.below(stand)
    assert len(by_partition(again)) > 1


def test_an_offset_without_a_record_is_never_given_and_never_lost() -> None:
    """There is some among a hundred."""
    source = Source(1, holes_of="a")

    given, stand = source.gives(source.zero, 100, source.every)

    assert set(given) == source.below(stand)
    assert 100 < stand[0] < 130


def test_a_hole_between_commits_is_open_where_the_contract_says_that_there_are_some() -> None:
    """One within a commit is none; what main lost is missing all the same."""
    history = History(Setting(has_holes=True, tells_of_holes=True), Random(1), "a")  # noqa: S311 - as above
    holes = [each for each in range(100) if not history.source.has(0, each)]
    history.job.reads(holes[1] - 1)
    history.job.reads(3)
    open_still = look(history, None).found["gaps"]
    lost = history.table.holds[history.head]
    history.table.is_set_to(history.table.chain[0].snapshot_id)
    history.job.reads(3)

    gaps = look(history, None).found["gaps"]

    assert (open_still.missing, open_still.is_untold) == (1, True)  # type: ignore[attr-defined]
    assert not gaps.is_untold  # type: ignore[attr-defined]
    assert gaps.missing >= len(lost)  # type: ignore[attr-defined]


def test_a_silent_partition_gives_nothing_new() -> None:
    """What it has already is read all the same."""
    source = Source(2)
    source.reaches((0, 3))
    source.silent = {1}
    source.draw.seed(4)

    given, _ = source.gives(source.zero, 8, source.every)

    assert [0, 1, 2] == by_partition(given)[1]


def test_a_rollback_under_a_running_job_loses_records_of_all_its_partitions() -> None:
    """Truth names each by partition and offset; evidence finds the same in each."""
    history = History(Setting(partitions=2), Random(1))  # noqa: S311 - a seed that can be given again
    history.source.draw.seed(7)
    for _ in range(4):
        history.job.reads(4)
    first = history.table.chain[0].snapshot_id
    lost = {row for commit in history.table.chain[1:] for row in history.table.holds[commit.snapshot_id]}
    history.table.is_set_to(first)
    history.job.reads(8)

    gaps = look(history, None).found["gaps"]

    assert truth_of(history).lost == lost
    assert {each.partition for each in ranges(history, lost)} == {"0", "1"}
    assert sum(each.size for each in gaps.gaps) == len(lost)  # type: ignore[attr-defined]
    assert all(each // STRIDE in {0, 1} for each in lost)


def test_records_that_are_deleted_unread_are_lost_and_seen_between_rows() -> None:
    """Where nothing came after them yet, no evidence can show it, and no judge has to know."""
    history = History(Setting(), Random(1))  # noqa: S311 - a seed that can be given again
    history.job.reads(2)
    history.source.deletes_unread(history.job.position)
    history.job.reads(2, is_committed=False)
    before = truth_since(history, history.source.zero, frozenset())
    history.job.reads(1)

    truth, gaps = truth_since(history, history.source.zero, frozenset()), look(history, None).found["gaps"]

    assert not before.lost
    assert truth.lost == history.source.skipped == set(range(2, history.source.begins[0]))
    assert gaps.missing == len(truth.lost)  # type: ignore[attr-defined]


def test_a_table_that_is_written_by_key_heals_once_the_job_has_passed() -> None:
    """Rows that come again set their keys back, until the newer ones have come again as well; none lives twice."""
    history = History(Setting(keys=2), Random(1))  # noqa: S311 - a seed that can be given again
    for _ in range(3):
        history.job.reads(2)
    history.job.starts(history.job.points[0])
    behind = truth_of(history)
    history.job.reads(9)

    truth = truth_of(history)

    assert [4, 5] == sorted(history.table.live(history.table.chain[2].snapshot_id))
    assert behind.to_come_again == {4, 5}
    assert not truth.is_wrong
    assert 2 == len(history.table.live_now)


def test_only_the_newest_row_of_a_key_can_be_lost() -> None:
    """An older one that went with a rollback has been replaced by now; evidence sees a position that nobody brought."""
    history = History(Setting(keys=2), Random(1))  # noqa: S311 - a seed that can be given again
    for _ in range(3):
        history.job.reads(2)
    history.table.is_set_to(history.table.chain[1].snapshot_id)
    lost = truth_of(history).lost
    history.job.reads(2)

    gaps = look(history, None).found["gaps"]

    assert lost == {4, 5}
    assert not truth_of(history).is_wrong
    assert (gaps.missing, gaps.is_untold) == (2, False)  # type: ignore[attr-defined]


def test_two_halves_of_a_job_read_what_the_job_would_have_read() -> None:
    """Each its own partitions, from one savepoint on; Flink shows the second as another job. One that goes back alone
    brings again what is its own."""
    history = History(Setting(partitions=3), Random(1))  # noqa: S311 - a seed that can be given again
    history.source.draw.seed(2)
    history.job.reads(4)
    operators.splits(history)
    half = history.half
    assert half is not None
    for _ in range(3):
        history.job.reads(3)
        half.reads(history.table, history.source)
    brought = {each: history.table.holds[s.snapshot_id] for each, s in enumerate(history.table.chain[2:])}
    is_right = not truth_of(history).is_wrong
    history.job.starts(history.job.points[-3])

    again = truth_of(history).to_come_again

    assert all({*by_partition(rows)} <= half.read or not {*by_partition(rows)} & half.read for rows in brought.values())
    assert is_right
    assert again
    assert not {*by_partition(again)} & half.read
    others = case_shown(history, None).observation.others
    assert [job_id(half.run)] == [run.job_id for run in others.values]


def test_a_task_that_fails_answers_when_it_looks_again() -> None:
    """One that never ran leaves no evidence at all; one that looked at a part says of which window it tells."""
    plan = replace(plan_of(3, with_mistakes=False), fails=("ledger",), unasked=("missing_positions",))
    drawn = played(replace(plan, in_part=("duplicate_rows",), meanwhile=()))
    case = case_for(drawn)

    again = case_for(drawn._replace(looked=look_again(drawn.history, drawn.looked, ("ledger", "missing_positions"))))

    windows = {each.task: each.window.since for each in case.evidence}
    assert (case.ledger, case.gaps) == (None, None)
    assert [each.verdict for each in case.evidence if each.task == "ledger"] == [Verdict.INCONCLUSIVE]
    assert "missing_positions" not in windows
    assert windows["duplicate_rows"] != windows["ledger"] == drawn.looked.since
    assert again.ledger is not None
    assert again.gaps is not None


def test_a_seed_says_the_same_history_wide_or_not() -> None:
    """But for what is wide: the source, and whatever else comes with it."""
    plain, wide = (plan_of(17, with_mistakes=True, wide=wide) for wide in (False, True))

    assert plain.events == tuple(event for event in wide.events if event in plain.events)
    assert any(played(plan_of(seed, with_mistakes=True, wide=True)).history.source.partitions == 3 for seed in range(9))
