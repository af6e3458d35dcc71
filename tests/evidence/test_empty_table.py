"""A table without a commit: what needs none is answered, what needs one says so, and nothing is called right."""

import pytest

import bot.diagnosis
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.asked_window import asked_window
from bot.domain.diagnosis import CannotTell, Diagnosis, Matches
from bot.domain.errors import Refused
from bot.domain.evidence import Verdict
from bot.domain.looked import NotSeen
from bot.domain.suspicion import propose_window
from bot.domain.table import EMPTY
from bot.evidence import check_answer
from tests.cases import Tale
from tests.evidence.empty_tales import TALES, TASKS, answer_of, ask_of, case_of

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
