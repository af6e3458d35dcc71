"""Evidence that could not be answered vouches for nothing, though it may have found nothing in what it saw."""

from bot.diagnosis import recovered_by_itself
from bot.diagnosis._asked import lacking
from bot.domain.diagnosis import CannotTell, Matches
from bot.domain.evidence import Verdict
from tests.cases import Tale
from tests.diagnosis.test_recovered_by_itself import pinned


def test_a_table_is_not_healthy_while_evidence_that_it_rests_on_is_inconclusive() -> None:
    """It says what was not looked at."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    case = pinned(tale.looked_at(), tale.at("a", 3))
    told = {"verdict": Verdict.INCONCLUSIVE, "headline": "5 older ones not looked at."}
    evidence = tuple(e.model_copy(update=told if e.task == "unreadable_files" else {}) for e in case.evidence)

    found = recovered_by_itself.examine(case.model_copy(update={"evidence": evidence}))

    assert isinstance(found, CannotTell)
    assert ("unreadable_files (it ran and could not answer: 5 older ones not looked at.)",) == found.missing


def test_a_mode_that_matches_by_what_was_seen_goes_by_an_inconclusive_answer() -> None:
    """Where Flink is away, the ledger cannot explain each gap; what its rows show is there all the same."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    case = pinned(tale.looked_at(), tale.at("a", 3))
    evidence = tuple(
        e.model_copy(update={"verdict": Verdict.INCONCLUSIVE} if e.task == "ledger" else {}) for e in case.evidence
    )
    away = case.model_copy(update={"evidence": evidence})

    assert lacking(away, "ledger") == ()
    assert len(lacking(away, "ledger", whole=True)) == 1


def test_where_no_manifest_lies_on_storage_the_unseen_decides_nothing() -> None:
    """The checkpoint storage is away, and there is nothing whose fate it could tell."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    case = pinned(tale.looked_at(), tale.at("a", 3))
    evidence = tuple(
        e.model_copy(update={"verdict": Verdict.INCONCLUSIVE} if e.task == "leaked_manifests" else {})
        for e in case.evidence
    )

    found = recovered_by_itself.examine(case.model_copy(update={"evidence": evidence}))

    assert isinstance(found, Matches)
