"""A Flink manifest of deletes alone brings no row, and is missed all the same: what it deletes lives on."""

import pytest

from bot.diagnosis import commits_withheld as f3
from bot.diagnosis import sink_lost_its_state as f12
from bot.diagnosis._came_again import came_again
from bot.diagnosis._leaks import can_be_appended, in_words
from bot.diagnosis._read_again import may_be_missing
from bot.domain.diagnosis import CannotTell, Matches, Remedy
from bot.domain.findings import LeakedManifest, LeakStanding
from bot.domain.ids import OperatorId
from bot.domain.unread_points import rows_of
from bot.service.watch_signs import leaked
from tests.cases import Tale
from tests.found import leaks

OTHER = OperatorId("cc" * 16)


def under_another_uid() -> Tale:
    """Run b commits under another operator id, and the manifest of checkpoint 4 of run a is left behind."""
    tale = (
        Tale().flink_runs("a").commits("a", 1, 2, 3).leaves_manifest("a", 4).completes("a", 4).becomes("a", "FINISHED")
    )
    tale.flink_runs("b", restored=4).commits("b", 5).by_sink(OTHER).commits("b", 6).by_sink(OTHER)
    return tale.completes("b", 5, 6)


def passed_over() -> Tale:
    """Checkpoint 3 of run a is below what its run has committed."""
    return Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).commits("a", 5)


def test_deletes_that_the_old_state_owed_are_missed_as_rows_are() -> None:
    """F12: it owed 12 deletes, which nobody may append now."""
    tale = under_another_uid()

    found = f12.examine(
        tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.LOST_STATE, rows=0, deletes=12))
    )

    assert isinstance(found, Matches)
    assert "0 rows and 12 deletes" in found.headline
    assert Remedy.REPLAY_SOURCE_RANGE is found.remedy


@pytest.mark.parametrize(("missing", "expected"), [(1, Matches), (0, CannotTell)])
def test_deletes_that_were_passed_over_are_not_harmless(missing: int, expected: type) -> None:
    """F3: whether they were read again no position tells."""
    tale = passed_over()
    dropped = leaks(*tale.manifests, standing=LeakStanding.DROPPED, rows=0, deletes=12)

    found = f3.examine(tale.looked_at(leaked=dropped, missing=missing))

    assert isinstance(found, expected)
    assert "0 rows and 12 deletes" in str(found)


def test_a_manifest_that_lists_nothing_is_harmless() -> None:
    """Nothing is lost with it."""
    tale = passed_over()
    found = leaks(*tale.manifests, standing=LeakStanding.DROPPED, rows=0)
    nothing = found.model_copy(update={"manifests": (found.manifests[0].model_copy(update={"files": 0}),)})
    case = tale.looked_at(leaked=nothing, missing=3)

    assert came_again(nothing.manifests[0], case)
    assert () == may_be_missing(tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.LEFT_OVER, rows=0)))
    assert leaked(case) is None


def test_untold_deletes_may_be_what_is_missing_and_the_watch_tells_lost_ones() -> None:
    """A delete leaves no position, and a leak of deletes is a leak."""
    tale = passed_over()
    untold = leaks(*tale.manifests, standing=LeakStanding.UNTOLD, rows=0, deletes=12)
    lost = leaks(*tale.manifests, standing=LeakStanding.DROPPED, rows=0, deletes=12)

    sign = leaked(tale.looked_at(leaked=lost))

    assert untold.manifests == may_be_missing(tale.looked_at(leaked=untold, missing=3))
    assert sign is not None
    assert "wrote deletes that no commit contains" in sign.headline
    assert "0 rows and 12 deletes never committed; their files are all there" in in_words(lost.manifests)
    assert not can_be_appended(tale.looked_at(), lost.manifests)


def test_a_record_of_an_older_version_keeps_its_hash_and_says_what_it_did_not_count() -> None:
    """The journal's hashes cover every field: one that says nothing is not written."""
    tale = passed_over()
    old = leaks(*tale.manifests, standing=LeakStanding.DROPPED, rows=0)

    assert "deletes" not in str(old.model_dump(mode="json"))
    assert LeakedManifest.model_validate(old.manifests[0].model_dump()) == old.manifests[0]
    assert "0 rows and deletes that were not counted" == rows_of(old.manifests)
