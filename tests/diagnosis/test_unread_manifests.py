"""A manifest that cannot be read is never told as one without rows."""

import pytest

from bot.diagnosis import commits_withheld, recovered_by_itself, source_positions_skipped
from bot.diagnosis import sink_lost_its_state as f12
from bot.diagnosis._leaks import in_words
from bot.domain.diagnosis import Excluded, Matches
from bot.domain.findings import LeakedManifestsFinding, LeakStanding
from bot.domain.unread_points import rows_told
from bot.service.watch_signs import leaked
from tests.cases import Tale
from tests.diagnosis.test_sink_lost_its_state import changed, commits_as_new
from tests.found import leaks

UNKNOWN = "an unknown number of rows (1 manifest cannot be read)"


def unread(tale: Tale, standing: LeakStanding = LeakStanding.DROPPED) -> LeakedManifestsFinding:
    """The tale's manifests, none of which can be read."""
    found = leaks(*tale.manifests, standing=standing, rows=None)
    return found.model_copy(update={"lost_files": 0})


def passed_over() -> Tale:
    """Checkpoint 3 of run a is below what its run has committed."""
    return Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).commits("a", 5)


@pytest.mark.parametrize(
    ("rows", "many", "expected"),
    [(1, 0, "1 row"), (0, 0, "0 rows"), (20, 1, "at least 20 rows (1 manifest cannot be read)"), (0, 1, UNKNOWN)],
)
def test_rows_are_told_as_far_as_they_are_known(rows: int, many: int, expected: str) -> None:
    """Whatever could not be read is said beside the number."""
    assert rows_told(rows, many) == expected


def test_no_mode_says_that_there_were_none() -> None:
    """Neither the one that matches nor those that are excluded by it."""
    tale = passed_over()
    case = tale.looked_at(leaked=unread(tale), gaps=None)
    withheld = commits_withheld.examine(case)
    told = [
        in_words(unread(tale).manifests),
        " ".join(withheld.reasons) if isinstance(withheld, Matches) else "",
        *(
            found.reason if isinstance(found, Excluded) else ""
            for found in (
                recovered_by_itself.examine(case),
                source_positions_skipped.examine(tale.looked_at(missing=3, leaked=unread(tale))),
            )
        ),
    ]

    assert all(UNKNOWN in each for each in told), told


def test_a_lost_state_is_told_as_unknown() -> None:
    """The old sink's manifest is cut."""
    tale = commits_as_new(changed(), 5, 6)

    found = f12.examine(tale.looked_at(leaked=unread(tale, LeakStanding.LOST_STATE)))

    assert isinstance(found, Matches)
    assert UNKNOWN in found.headline


def test_the_watch_tells_of_it() -> None:
    """It was silent where no file of a lost manifest could be counted."""
    tale = passed_over()

    sign = leaked(tale.looked_at(leaked=unread(tale)))

    assert sign is not None
    assert UNKNOWN in sign.reasons[0]
