"""What a shorter history leaves out changes no answer, and only what nothing names is left out."""

import pytest

from bot.diagnosis._support.examine import _diagnosed, diagnose
from bot.history.case import Case
from bot.history.rollbacks import gone_before, gone_since
from bot.history.shorter_history import KEPT, reaches_below, shortened
from bot.observation.ids import SnapshotId
from bot.observation.table import Ref, TableState, Window
from tests.diagnosis.histories import held
from tests.diagnosis.histories.drawn import plan_of, played
from tests.long_cases import HAPPENS, above, long_case
from tests.tables import observing, of_table

LONG = 2_000


def table_of(case: Case) -> TableState:
    """The table as its shorter history has it."""
    return shortened(case).observation.table


@pytest.mark.parametrize("what", HAPPENS)
def test_the_answer_is_that_of_the_whole_history(what: str) -> None:
    """To the letter, of a sixth of the commits and fewer."""
    case = long_case(what, LONG)

    shorter = shortened(case)

    assert len(shorter.observation.table.snapshots) * 5 < len(case.observation.table.snapshots)
    assert _diagnosed(case, held.MODES) == _diagnosed(shorter, held.MODES) == diagnose(case, held.MODES)


@pytest.mark.parametrize("seed", range(8))
def test_drawn_histories_are_answered_alike(seed: int) -> None:
    """Mistakes and accidents of all kinds, with a window somewhere above a long line of commits."""
    drawn = held.case_for(played(plan_of(seed, with_mistakes=True)))
    began = drawn.observation.table
    oldest = min((s.checkpoint_id or 1 for s in began.snapshots if s.job_id), default=1)
    case = above(drawn, 1_000, last_run="ab"[seed % 2], top=(oldest, 5_000)[seed // 2 % 2])
    window = Window(since=began.chain[seed % len(began.chain)].snapshot_id, until=drawn.window.until)
    looked = tuple(each.model_copy(update={"window": window}) for each in case.evidence)
    case = case.model_copy(update={"window": window, "evidence": looked})

    shorter = shortened(case)

    assert len(shorter.observation.table.snapshots) < len(case.observation.table.snapshots)
    assert _diagnosed(case, held.MODES) == diagnose(case, held.MODES)


def test_what_is_left_out_is_of_the_middle_of_rows() -> None:
    """Both ends of each run stay; parents, log and sequence numbers close over the rest."""
    case = long_case("a rollback of main", LONG)
    whole, shorter = case.observation.table, table_of(case)

    runs = {each.job_id for each in whole.snapshots}
    for run in runs:
        theirs = [each.snapshot_id for each in whole.of_flink if each.job_id == run]
        kept = {each.snapshot_id for each in shorter.of_flink if each.job_id == run}
        assert {*theirs[:KEPT], *theirs[-KEPT:]} <= kept
    assert shorter.chain[-1] == whole.chain[-1]
    assert [each.snapshot_id for each in shorter.chain] == [
        each.snapshot_id for each in whole.chain if each.snapshot_id in shorter.by_id
    ]
    assert [each.snapshot_id for each in shorter.rolled_back] == [each.snapshot_id for each in whole.rolled_back]
    assert list(shorter.head_moves) == [each for each in whole.head_moves if each.snapshot_id in shorter.by_id]
    for one, other in zip(whole.rolled_back, shorter.rolled_back, strict=True):
        assert gone_before(one, whole) == gone_before(other, shorter) == 0
        assert gone_since(one, whole) == gone_since(other, shorter)


def test_what_anything_names_stays() -> None:
    """A tag, a property, a checkpoint that Flink tells of, and what came near a moment of it."""
    case = long_case("nothing", LONG)
    tagged, told, reached, started = (case.observation.table.snapshots[place] for place in (300, 550, 800, 1_050))
    case = of_table(
        case,
        refs=(Ref(name="audit", kind="tag", snapshot_id=tagged.snapshot_id),),
        properties={"waterline.snapshot": str(told.snapshot_id)},
    )
    (run,) = case.observation.jobs.values
    point = run.checkpoints[0].model_copy(update={"checkpoint_id": reached.checkpoint_id})
    listed = run.model_copy(update={"checkpoints": (*run.checkpoints, point), "started_at": started.committed_at})
    jobs = case.observation.jobs.model_copy(update={"values": (listed,)})
    named = {each.snapshot_id for each in (tagged, told, reached, started)}
    assert not named & {each.snapshot_id for each in table_of(long_case("nothing", LONG)).snapshots}

    case = observing(case, jobs=jobs)

    assert named <= {each.snapshot_id for each in table_of(case).snapshots}


def test_runs_that_count_their_checkpoints_anew_are_left_whole() -> None:
    """Each of their commits may meet another one with its id."""
    case = long_case("nothing", LONG)

    again = above(case, LONG, first_id=2_000_000_000)

    assert shortened(case) is not case
    assert shortened(again) is again


@pytest.mark.parametrize("since", [None, SnapshotId(1)], ids=["the whole table", "an expired commit"])
def test_a_window_without_a_beginning_needs_all(since: SnapshotId | None) -> None:
    """Also where only one answer of evidence was asked for more."""
    case = long_case("nothing", LONG)
    wider = case.evidence[0].model_copy(update={"window": Window(since=since, until=case.window.until)})

    assert shortened(case) is not case
    for asked in ({"window": wider.window}, {"evidence": (wider, *case.evidence[1:])}):
        whole = case.model_copy(update=asked)
        assert shortened(whole) is whole


def test_an_answer_that_reaches_below_the_window_is_made_of_the_whole_history() -> None:
    """It may list or count commits that were left out."""
    case = long_case("a rewind of the job", LONG)
    oldest, edge = case.observation.table.snapshots[0], case.window.since

    assert reaches_below(case, f'{{"rows": [{oldest.snapshot_id}]}}')
    assert not reaches_below(case, f'{{"last_good": {edge}, "rows": [{case.observation.table.head}], "times": 9}}')
