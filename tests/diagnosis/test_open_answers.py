"""Evidence that could not be answered vouches for nothing, though it may have found nothing in what it saw."""

from bot.diagnosis import recovered_by_itself
from bot.domain.diagnosis import CannotTell
from bot.domain.evidence import Verdict
from tests.cases import Tale
from tests.diagnosis.test_recovered_by_itself import pinned


def test_a_table_is_not_healthy_while_evidence_that_it_rests_on_is_inconclusive() -> None:
    """It says what was not looked at."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    case = pinned(tale.looked_at(), tale.at("a", 3))
    told = {"verdict": Verdict.INCONCLUSIVE, "headline": "5 older ones not looked at."}
    evidence = tuple(e.model_copy(update=told if e.task == "leaked_manifests" else {}) for e in case.evidence)

    found = recovered_by_itself.examine(case.model_copy(update={"evidence": evidence}))

    assert isinstance(found, CannotTell)
    assert ("leaked_manifests (it ran and could not answer: 5 older ones not looked at.)",) == found.missing
