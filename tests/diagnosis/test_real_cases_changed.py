"""No real case is called healthy while its rows are lost or doubled, nor after what health rests on was taken away.

All cases of the matrix, each changed in every place.
"""

from collections.abc import Iterator

import pytest

import bot.diagnosis
from bot.diagnosis import healthy
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case
from bot.incident.diagnosis import HEALTHY, Matches
from tests.diagnosis.changed_cases import NAMES, Changed, case_named, is_wrong, without_answers, without_source

pytestmark = pytest.mark.full

MODES = scan(bot.diagnosis)
SOURCES = ("jobs", "checkpoints", "reads", "flink_manifests")
NEEDED = ("jobs",)
"""Where the living run stands is shown by its rows, or by its restore point and what lies on storage."""


def is_healthy(case: Case) -> Matches | None:
    """What the mode says that says that nothing is wrong; None where it does not."""
    found = healthy.examine(case)
    return found if isinstance(found, Matches) else None


@pytest.mark.parametrize("name", NAMES)
def test_no_source_that_is_down_makes_a_case_healthy(name: str) -> None:
    """Where rows are wrong it stays wrong, and where a needed source is down nobody says that all is well."""
    case = case_named(name)
    tasks = [[task] for task in healthy.MODE.needs]
    down = {source: without_source(case, source) for source in SOURCES}

    well = {source: is_healthy(each) is not None for source, each in down.items()}
    silent = [task for [task] in tasks if is_healthy(without_answers(case, [task])) is not None]

    assert [] == silent
    assert [] == [source for source in NEEDED if well[source]]
    assert not (is_wrong(name) and (is_healthy(case) or any(well.values())))


@pytest.mark.parametrize("name", NAMES)
def test_no_change_of_commits_makes_lost_or_doubled_rows_healthy(name: str) -> None:
    """Each commit in turn is dropped, repeated, or exchanged with the newest; evidence is from before or from after."""
    called_healthy = []
    for what, changed, case in changes_of(name):
        found = is_healthy(case)
        if found is None:
            continue
        if is_wrong(name) or changed.lost() or changed.doubled(found.last_good):
            called_healthy.append(what)

    assert [] == called_healthy


@pytest.mark.parametrize("name", [name for name in NAMES if HEALTHY in diagnose(case_named(name), MODES).codes])
def test_a_change_that_was_looked_at_is_seen(name: str) -> None:
    """The rule above would hold of a diagnosis that is never healthy; here the real case is, and no changed one."""
    wrong = [
        (what, case)
        for what, changed, case in changes_of(name)
        if "from after" in what and (changed.lost() or changed.doubled(None))
    ]

    assert HEALTHY in diagnose(case_named(name), MODES).codes
    assert Changed.of(name).is_by_key or len(wrong) > len(Changed.of(name).commits)
    assert [] == [what for what, case in wrong[:: max(1, len(wrong) // 5)] if HEALTHY in diagnose(case, MODES).codes]


def changes_of(name: str) -> Iterator[tuple[str, Changed, Case]]:
    """(what was done, what is true, what the bot knows)."""
    real = Changed.of(name)
    made = {f"the newest {cut} dropped": real.cut_off(cut) for cut in (2, 3, 5, 8) if cut < len(real.commits)}
    for place, commit in enumerate(real.commits):
        made |= {
            f"{commit.checkpoint_id} dropped": real.dropped(place),
            f"{commit.checkpoint_id} repeated": real.repeated(place, as_next=False),
            f"{commit.checkpoint_id} repeated as the next checkpoint": real.repeated(place, as_next=True),
            f"{commit.checkpoint_id} exchanged": real.exchanged(place),
        }
    for what, changed in made.items():
        if changed.table.head is not None:
            yield f"{what}, evidence from before", changed, changed.case
            yield f"{what}, evidence from after", changed, changed.looked_at_anew()
