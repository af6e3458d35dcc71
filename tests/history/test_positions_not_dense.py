"""Where the contract says that positions are not dense: which holes between commits had no record, and what is said."""

import pytest

from bot.diagnosis import healthy, source_positions_skipped
from bot.history.case import Case
from bot.history.proof import Right, Unproven, prove
from bot.incident.diagnosis import CannotTell, Excluded, Matches
from bot.observation.evidence import Verdict
from bot.observation.findings import PositionGap
from bot.observation.kafka import KafkaPartition
from bot.observation.ledger import SourceRange
from bot.observation.looked import NotSeen, Seen
from tests.cases import Tale
from tests.diagnosis.test_skipped_positions import of, partition
from tests.found import ruled_out
from tests.history.test_proof import TEN, placed, running, upgraded

SEAM = NotSeen(source="positions between commits", reason="One has no row.", remedy="Ask the source.")


def with_holes(tale: Tale, *lows: int, others: int = 0) -> Case:
    """Each commit brought ten positions from these on; what lies between is untold, and `others` is too."""
    case = placed(tale.looked_at(), *lows)
    assert case.gaps is not None
    ends = [low + TEN for low in sorted(lows)]
    gaps = tuple(PositionGap(first=a, last=b - 1) for a, b in zip(ends, sorted(lows)[1:], strict=False) if b > a)
    found = case.gaps.model_copy(
        update={"gaps": gaps, "missing": sum(gap.size for gap in gaps) + others, "is_untold": True}
    )
    told = ruled_out(case, "missing_positions", case.observation.table.head)
    told = told.model_copy(update={"verdict": Verdict.INCONCLUSIVE, "could_not_look": (SEAM,)})
    contract = case.contract.model_copy(update={"position_is_dense": False})
    evidence = (*(each for each in case.evidence if each.task != told.task), told)
    return case.model_copy(update={"gaps": found, "contract": contract, "evidence": evidence})


HAD_NONE = {
    "between two checkpoints of one run": with_holes(running(), 0, 11, 23),
    "where a run began with what main has": with_holes(upgraded().commits("b", 4), 0, 10, 20, 31),
}
OPEN = {
    "a checkpoint was left out": (with_holes(Tale().flink_runs("a").commits("a", 1, 3), 0, 11), "had a record"),
    "a run began below": (with_holes(upgraded(2).commits("b", 3), 0, 10, 20, 31), "goes back to checkpoint 2"),
    "a run began without state": (
        with_holes(running().becomes("a", "CANCELED").flink_runs("b").commits("b", 4), 0, 10, 20, 31),
        "between …003003 and …004004 had a record",
    ),
    "no commit is known beside them": (with_holes(running(), 0, 11, 23, others=5), "between which commits"),
}


@pytest.mark.parametrize("case", HAD_NONE.values(), ids=HAD_NONE)
def test_a_state_that_went_on_without_a_break_left_no_record_out(case: Case) -> None:
    """The table is healthy, and F18 is ruled out."""
    proven, skipped = healthy.examine(case), source_positions_skipped.examine(case)

    assert isinstance(prove(case), Right)
    assert isinstance(proven, Matches), proven
    assert any("not dense" in reason for reason in proven.reasons)
    assert isinstance(skipped, Excluded)


@pytest.mark.parametrize(("case", "said"), OPEN.values(), ids=OPEN)
def test_other_holes_between_commits_are_open(case: Case, said: str) -> None:
    """Nobody is accused, and the table is not called healthy."""
    found, skipped = prove(case), source_positions_skipped.examine(case)

    assert isinstance(found, Unproven), found
    assert said in found.missing
    assert isinstance(skipped, CannotTell)
    assert not isinstance(healthy.examine(case), Matches)


ON_BROKER = {
    "it has all": (of(partition(earliest=5)), True),
    "of another partition": (of(partition(1)), True),
    "no broker is configured": (None, True),
    "it has them no more": (of(partition(earliest=40)), False),
    "it was not seen": (NotSeen(source="Kafka", reason="It did not answer.", remedy="Start it."), False),
}


@pytest.mark.parametrize(("kafka", "is_right"), ON_BROKER.values(), ids=ON_BROKER)
@pytest.mark.parametrize("name", HAD_NONE)
def test_a_hole_may_be_what_retention_took_before_the_job_read_it(
    name: str, kafka: Seen[KafkaPartition] | NotSeen | None, *, is_right: bool
) -> None:
    """Where the broker has no record there any more: at a restart, and while a run goes on."""
    case = HAD_NONE[name]
    assert case.ledger is not None
    world = case.observation.model_copy(update={"kafka": kafka})
    ranges = (
        (SourceRange(partition="0", low=row.position_from or 0, high=row.position_until or 0, rows=TEN),)
        for row in case.ledger.rows
    )
    rows = tuple(row.model_copy(update={"ranges": each}) for row, each in zip(case.ledger.rows, ranges, strict=True))
    contract = case.contract.model_copy(update={"position_partition": "of"})
    told = {"observation": world, "contract": contract, "ledger": case.ledger.model_copy(update={"rows": rows})}
    case = case.model_copy(update=told)

    found, skipped = prove(case), source_positions_skipped.examine(case)

    assert isinstance(found, Right if is_right else Unproven), found
    assert isinstance(skipped, Excluded if is_right else CannotTell), skipped


def test_holes_like_those_before_accuse_nobody_where_the_contract_promises_none() -> None:
    """It is said what to declare."""
    case = with_holes(running(), 0, 11, 23)
    case = case.model_copy(update={"contract": case.contract.model_copy(update={"position_is_dense": True})})

    skipped = source_positions_skipped.examine(case)

    assert isinstance(skipped, CannotTell)
    assert "position_is_dense" in skipped.missing[0]
    assert not isinstance(healthy.examine(case), Matches | Excluded)
