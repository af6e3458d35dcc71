"""A table whose rows do not carry their source position: what P1 rests on then, and what bars it."""

from typing import Any

import pytest

import bot.diagnosis
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Excluded, Matches
from bot.observation.evidence import Verdict
from bot.observation.flink import CheckpointSettings
from bot.observation.ids import DRAINED, SnapshotId
from bot.observation.looked import NotSeen, Seen
from tests.cases import Tale
from tests.diagnosis.histories.drawn import Event, Plan, plan_of, played
from tests.diagnosis.histories.held import (
    answered,
    asked_again,
    case_for,
    wrongly_acquitted,
    wrongly_clean,
    wrongly_safe,
)
from tests.diagnosis.histories.history import Setting
from tests.diagnosis.histories.truth import truth_of
from tests.made_up import BASE, EXAMPLES
from tests.tables import observing

HEALTHY = scan(bot.diagnosis)["healthy"]
BLIND = Setting(has_positions=False)


def case_of(*events: str, setting: Setting = BLIND) -> Case:
    """Two checkpoints, then these events; evidence is collected at the end."""
    return case_for(played(Plan(7, setting, tuple(Event(at, name) for at, name in enumerate(events)))))


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(("a checkpoint", "a checkpoint"), id="one run that was never restored"),
        pytest.param(("an upgrade with a savepoint", "a checkpoint"), id="a savepoint that pairs"),
        pytest.param(("a checkpoint", "a failover", "a checkpoint"), id="a failover to its own newest checkpoint"),
        pytest.param(("a compaction", "an upgrade with a savepoint", "a checkpoint"), id="beside a compaction"),
    ],
)
def test_it_is_proven_by_its_commits(events: tuple[str, ...]) -> None:
    """And the answer says what that does not show."""
    told = HEALTHY.examine(case_of(*events))

    assert isinstance(told, Matches)
    assert any("no position was counted" in reason for reason in told.reasons)


@pytest.mark.parametrize(
    ("events", "why"),
    [
        (("started from an older point", "a checkpoint"), "how far"),
        (("started without state", "a checkpoint"), "began"),
        (("an upgrade with a savepoint",), "has not since it was restored"),
        (("a checkpoint", "rolled back while the job runs", "a checkpoint"), "main has lost"),
        (("a failover", "a checkpoint", "a failover", "a checkpoint"), "Flink manifest"),
        (("a checkpoint", "rolled back while the job runs", "an expiry of snapshots", "a checkpoint"), "expired"),
        (("started from an older point under its job id", "a checkpoint", "a checkpoint"), "restored"),
    ],
    ids=lambda told: told[0] if isinstance(told, tuple) else "",
)
def test_what_is_not_known_is_said(events: tuple[str, ...], why: str) -> None:
    """Never right, whether or not rows came out wrong."""
    told = HEALTHY.examine(case_of(*events, setting=BLIND._replace(keeps_keys=False)))

    assert isinstance(told, CannotTell)
    assert any(why in what for what in told.missing), told.missing


OLDER, UPGRADE, CHECKPOINT = "started from an older point", "an upgrade with a savepoint", "a checkpoint"
KEPT_ID = f"{OLDER} under its job id"


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        pytest.param({"events": (OLDER, CHECKPOINT, UPGRADE, CHECKPOINT)}, "how far run bbbbbb", id="an earlier start"),
        pytest.param(
            {"events": (OLDER, CHECKPOINT, UPGRADE, CHECKPOINT), "lists": "the living run"},
            "where run aaaaaa began",
            id="an earlier start that Flink has forgotten",
        ),
        pytest.param(
            {"events": (KEPT_ID, CHECKPOINT, CHECKPOINT, "a failover", CHECKPOINT)},
            "shows the newest restore only",
            id="a start that a failover hides",
        ),
        pytest.param(
            {"events": (KEPT_ID, CHECKPOINT, CHECKPOINT, UPGRADE, CHECKPOINT), "opens_at": 0.5},
            "how far run aaaaaa",
            id="a start between the base and the first commit of the window",
        ),
    ],
)
def test_each_start_of_the_window_has_to_be_right(plan: dict[str, Any], why: str) -> None:
    """Rows are there twice under other keys in each, and the living run began right."""
    setting = BLIND._replace(keeps_keys=False, lists=plan.pop("lists", "all runs"))
    events = tuple(Event(at, name) for at, name in enumerate((CHECKPOINT, *plan.pop("events"))))
    drawn = played(Plan(9, setting, events, **plan))

    assert truth_of(drawn.history).doubled
    told = HEALTHY.examine(case_for(drawn))
    assert isinstance(told, CannotTell)
    assert any(why in what for what in told.missing), told.missing


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ("leaked", "Flink manifests"),
        ("duplicates", "duplicate_rows"),
        ("duplicate_commits", "duplicate_commits"),
    ],
)
def test_the_evidence_that_it_rests_on_has_to_answer(field: str, why: str) -> None:
    """Nothing is right by what nobody looked at."""
    case = case_of("an upgrade with a savepoint", "a checkpoint")

    told = HEALTHY.examine(case.model_copy(update={field: None}))

    assert isinstance(told, CannotTell)
    assert any(why in what for what in told.missing), told.missing


def test_a_key_that_lives_twice_bars_it() -> None:
    """Rows are counted by key all the same."""
    told = HEALTHY.examine(case_of("started from an older point", "a checkpoint", setting=BLIND))

    assert isinstance(told, Excluded | CannotTell)


@pytest.mark.made_up
@pytest.mark.parametrize("wide", [False, True], ids=["plain", "wide"])
def test_wrong_rows_are_never_called_right(wide: bool) -> None:
    """The histories of `tests/diagnosis/histories`, without their positions; rows that the source skipped do not
    count as lost, for nothing shows them."""
    wrong, right = [], 0
    for seed in range(BASE, BASE + EXAMPLES):
        drawn = played(plan_of(seed, with_mistakes=True, wide=wide, has_positions=False))
        for rule in (wrongly_safe, wrongly_clean, wrongly_acquitted):
            if said := rule(drawn):
                wrong.append((seed, *said))
        right += not truth_of(drawn.history).is_wrong and "healthy" in answered(asked_again(drawn)).codes

    assert [] == wrong
    assert right > EXAMPLES // 40 or wide


def test_what_lies_below_a_drained_commit_is_not_walked_number_by_number() -> None:
    """Its checkpoint id is the greatest that there is: a set of all below it takes all memory of the machine."""
    drawn = played(plan_of(1608, with_mistakes=True, has_positions=False))
    assert any(commit.checkpoint_id == DRAINED for commit in drawn.history.tale.table.snapshots)

    assert "healthy" not in answered(drawn).codes


def test_a_run_that_may_lose_rows_in_flight_proves_nothing() -> None:
    """The V1 sink under unaligned checkpoints: a checkpoint that fails may take rows with it, and no position tells."""
    case = case_of("a checkpoint", setting=BLIND._replace(sink="V1"))
    jobs = case.observation.jobs
    assert isinstance(jobs, Seen)
    unaligned = CheckpointSettings(is_unaligned=True)
    runs = tuple(run.model_copy(update={"settings": unaligned}) for run in jobs.values)

    assert isinstance(HEALTHY.examine(case), Matches)
    told = HEALTHY.examine(observing(case, jobs=jobs.model_copy(update={"values": runs})))
    assert isinstance(told, CannotTell)
    assert any("lost rows in flight" in what for what in told.missing)


def test_what_could_not_be_read_of_manifests_is_no_proof() -> None:
    """An answer that is inconclusive leaves open what was not seen, though no manifest was found."""
    case = case_of("an upgrade with a savepoint", "a checkpoint")
    evidence = tuple(
        each.model_copy(update={"verdict": Verdict.INCONCLUSIVE}) if each.task == "leaked_manifests" else each
        for each in case.evidence
    )

    assert isinstance(HEALTHY.examine(case), Matches)
    assert isinstance(HEALTHY.examine(case.model_copy(update={"evidence": evidence})), CannotTell)


def test_checkpoints_that_are_missing_for_too_long_may_have_been_committed() -> None:
    """A catalog that was set back takes the last sequence number back with it: only the distance of ids tells."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 60)
    case = tale.looked_at(gaps=None)
    case = case.model_copy(update={"contract": case.contract.model_copy(update={"position": None})})

    told = HEALTHY.examine(case)

    assert isinstance(told, CannotTell)
    assert any("commits are gone" in what for what in told.missing), told.missing


def test_a_base_that_has_expired_is_none() -> None:
    """What main had between it and the oldest listed commit is known to nobody."""
    case = case_of("an upgrade with a savepoint", "a checkpoint")
    gone = case.window.model_copy(update={"since": SnapshotId(999)})

    told = HEALTHY.examine(case.model_copy(update={"window": gone}))

    assert isinstance(told, CannotTell)
    assert any("where the window begins: that commit has expired" in what for what in told.missing), told.missing


def test_a_commit_may_have_been_overwritten_where_nobody_read_the_metadata_folder() -> None:
    """No count of positions would show it."""
    case, modes = case_of("an upgrade with a savepoint", "a checkpoint"), scan(bot.diagnosis)
    unread = NotSeen(source="the metadata files", reason="They were refused.", remedy="Let the bot list them.")

    seen, unseen = (diagnose(each, modes) for each in (case, observing(case, unnamed_commits=unread)))

    assert "healthy" in {mode.code for mode, _ in seen.matches}
    assert {"F26", "healthy"} <= {mode.code for mode, _ in unseen.undecided}
