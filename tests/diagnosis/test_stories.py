"""Each story gets exactly its codes: a mode that takes a neighbour's story for its own would propose the wrong cure."""

import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bot.diagnosis
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, ModeResult, Remedy
from bot.domain.flink import JobRun, Restored
from bot.domain.ids import CheckpointId
from bot.domain.looked import Seen
from bot.domain.table import TableState
from tests.cases import FLINK_DOWN, NOON, Tale, job_id
from tests.diagnosis.stories import STORIES
from tests.found import hole, twice

MODES = scan(bot.diagnosis)
Story = Callable[[], Case]
stories = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)


@stories
def test_a_story_gets_exactly_its_codes(story: Story) -> None:
    """The neighbours of a story's mode do not match it, and matches come in the order in which to act."""
    case = story()

    diagnosis = diagnose(case, MODES)

    assert STORIES[story] == diagnosis.codes


@stories
def test_every_answer_is_full_sentences(story: Story) -> None:
    """A responder reads sentences: each begins like one and ends with a full stop."""
    case = story()

    results = diagnose(case, MODES).results

    said = [text for result in results for text in _sentences(result)]
    assert said
    assert [text for text in said if not text.endswith((".", "`.")) or text[0].islower()] == []


@stories
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_what_was_seen_does_not_matter(story: Story, seed: int) -> None:
    """Flink and metadata may list runs, failures, checkpoints and snapshots in any order."""
    case = story()

    shuffled = diagnose(_shuffled(case, random.Random(seed)), MODES)  # noqa: S311 - a test's order, not a secret

    assert diagnose(case, MODES) == shuffled


@stories
def test_nothing_is_excluded_because_flink_was_not_asked(story: Story) -> None:
    """What is excluded without Flink stays excluded whatever Flink would have said: it was looked at elsewhere."""
    case = story()
    blind = _with_jobs(case, FLINK_DOWN)

    without, with_flink = diagnose(blind, MODES), diagnose(case, MODES)

    after = {r.mode.code: r.examined for r in with_flink.results}
    wrongly = [r.mode.code for r in without.results if isinstance(r.examined, Excluded) and _holds(after[r.mode.code])]
    assert wrongly == []
    asked = [r for r in without.results if r.mode.code in {"F2", "F3", "wait"}]
    assert [r.mode.code for r in asked if isinstance(r.examined, Excluded)] == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(list(STORIES)), st.data())
def test_an_exclusion_does_not_depend_on_a_source_that_was_not_seen(story: Story, data: st.DataObject) -> None:
    """Excluded without Flink means excluded for every answer that Flink could have given."""
    case = story()
    excluded = {
        r.mode.code for r in diagnose(_with_jobs(case, FLINK_DOWN), MODES).results if isinstance(r.examined, Excluded)
    }
    jobs = Seen[JobRun](source="Flink REST", values=data.draw(_answers(case)))

    after = diagnose(_with_jobs(case, jobs), MODES)

    assert set() == excluded & set(after.codes)


@stories
def test_an_exclusion_does_not_depend_on_evidence_that_nobody_collected(story: Story) -> None:
    """Excluded before rows were counted means excluded whatever the count is."""
    case = story()
    bare = case.model_copy(update={"duplicates": None, "gaps": None})
    counted = [
        bare.model_copy(update={"duplicates": d, "gaps": g}) for d in (twice(0), twice(9)) for g in (hole(0), hole(9))
    ]

    before = {r.mode.code for r in diagnose(bare, MODES).results if isinstance(r.examined, Excluded)}

    assert set() == {code for one in counted for code in diagnose(one, MODES).codes} & before


@pytest.mark.parametrize("code", [code for code in MODES if "ledger" in MODES[code].mode.needs])
def test_a_mode_that_needs_the_ledger_says_so(code: str) -> None:
    """Without the ledger nobody is told that all is well, nor that something is wrong."""
    case = Tale().flink_runs("a").commits("a", 1, 2).case(ledger=False)

    examined = MODES[code].examine(case)

    assert isinstance(examined, CannotTell)
    assert "ledger" in examined.missing


def _excluded(case: Case) -> set[str]:
    return {mode.code for mode, _ in diagnose(case, MODES).excluded}


def _holds(examined: object) -> bool:
    return isinstance(examined, Matches)


def _sentences(result: ModeResult) -> list[str]:
    match result.examined:
        case Matches(headline=headline, reasons=reasons):
            return [headline, *reasons]
        case Excluded(reason=reason):
            return [reason]
        case CannotTell():
            return []


def _with_jobs(case: Case, jobs: object) -> Case:
    return case.model_copy(update={"observation": case.observation.model_copy(update={"jobs": jobs})})


def _shuffled(case: Case, order: random.Random) -> Case:
    def mixed(values: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(order.sample(values, len(values)))

    runs = [
        run.model_copy(update={name: mixed(getattr(run, name)) for name in ("checkpoints", "failures", "vertices")})
        for run in case.observation.jobs.values
    ]
    table = case.observation.table
    fields = {name: getattr(table, name) for name in TableState.model_fields}
    seen = case.observation.model_copy(update={"table": TableState(**fields | {"snapshots": mixed(table.snapshots)})})
    jobs = case.observation.jobs.model_copy(update={"values": mixed(tuple(runs))})
    return _with_jobs(case.model_copy(update={"observation": seen}), jobs)


def _answers(case: Case) -> st.SearchStrategy[tuple[JobRun, ...]]:
    """Any runs of `a`, `b` and `c`, alive or not, restored from anywhere or not at all, with either sink."""
    model = Tale().flink_runs("a").runs["a"]

    def run(name: str) -> st.SearchStrategy[JobRun | None]:
        restored = st.none() | st.builds(
            lambda checkpoint, at: Restored(
                checkpoint_id=CheckpointId(checkpoint), at=at, is_savepoint=True, path=None
            ),
            st.integers(0, 24),
            st.sampled_from([s.committed_at for s in case.observation.table.snapshots] + [NOON]),
        )
        made = st.builds(
            lambda point, state, v1: model.model_copy(
                update={
                    "job_id": job_id(name),
                    "state": state,
                    "restored": point,
                    "restored_count": 0 if point is None else 1,
                    "vertices": Tale().flink_runs("a", v1=v1).runs["a"].vertices,
                }
            ),
            restored,
            st.sampled_from(["RUNNING", "RESTARTING", "FAILED", "CANCELED"]),
            st.booleans(),
        )
        return st.none() | made

    return st.tuples(run("a"), run("b"), run("c")).map(lambda runs: tuple(r for r in runs if r is not None))


def test_a_match_that_changes_the_world_names_the_snapshot_to_go_back_to() -> None:
    """A rewind without a trusted snapshot could not be proposed."""
    matches = [match for story in STORIES for _, match in diagnose(story(), MODES).matches]

    rewinds = [match for match in matches if match.remedy is Remedy.REWIND_TABLE_AND_JOB]

    assert rewinds
    assert [match.headline for match in rewinds if match.last_good is None or match.wrong_run is None] == []
