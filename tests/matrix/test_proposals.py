"""What a diagnosis of a real run asks for can be proposed: no mode offers an action that refuses by construction."""

from collections import defaultdict

import pytest

import bot.actions
import bot.diagnosis
from bot.actions._support.completing import scan as scan_actions
from bot.adapters.saved_case import read_case
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case
from bot.incident.diagnosis import Matches, Mode, Remedy
from bot.observation.errors import WaterlineError
from bot.observation.file_changes import FileList, FileSources, FileSurvey
from tests.actions.plans import plan_of
from tests.matrix.asking import CASES

MODES, ACTIONS = scan(bot.diagnosis), scan_actions(bot.actions)
NOT_SAVED = {
    ("F1", "drop_duplicated_commit"): "which rows the two commits share",
    ("F2", "deduplicate_rows"): "extra_copies",
    ("F7", "restore_lost_commits"): "a restore point on storage",
    ("F16", "deduplicate_rows"): "extra_copies",
    ("F17", "deduplicate_rows"): "extra_copies",
    ("F18", "replay_source_range"): "a declared replay",
    ("F26", "replay_source_range"): "a declared replay",
}
"""(Mode, action) -> what the action needs and the saved cases do not hold."""


@pytest.mark.full
def test_what_a_diagnosis_asks_for_is_proposed_for_some_real_case() -> None:
    """But where an action needs what is not saved with a case."""
    answers = defaultdict[tuple[str, str], list[bool]](list)
    for path in sorted(CASES.glob("*.json.gz")):
        case = read_case(path).case
        for mode, match in diagnose(case, MODES).matches:
            action = match.remedy.value.replace("-", "_")
            if action in ACTIONS and action != "change_operator_uid":  # it says what people do
                answers[mode.code, action].append(_is_proposed(action, case, mode, match))

    refused = {asked for asked, found in answers.items() if not any(found)}

    assert refused == NOT_SAVED.keys()
    assert len(answers) > 2 * len(refused)


@pytest.mark.full
def test_no_diagnosis_asks_for_a_rewind_that_finds_no_restore_point() -> None:
    """Once it was looked which points pair, in every real case."""
    asked = [
        (path.name, mode.code, _is_proposed("roll_back_table_and_restore_job", case, mode, match))
        for path in sorted(CASES.glob("*.json.gz"))
        if (case := read_case(path).case).pairing is not None
        for mode, match in diagnose(case, MODES).matches
        if match.remedy is Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB
    ]

    assert [each for each in asked if not each[-1]] == []
    assert len(asked) > 20


def _is_proposed(action: str, case: Case, mode: Mode, match: Matches) -> bool:
    plan = plan_of(case, mode, match, survey=_all_there)
    try:
        ACTIONS[action].propose(plan)
    except WaterlineError:
        return False
    return True


def _all_there(add: FileSources | None, remove: FileSources | None) -> FileSurvey:
    return FileSurvey(add=_whole(add), remove=_whole(remove))


def _whole(sources: FileSources | None) -> FileList | None:
    """Each of their files is on storage."""
    return FileList(sources=sources, files=1, rows=10, bytes=1, digest="e" * 64) if sources is not None else None
