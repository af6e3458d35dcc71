"""What may be in the table already is not appended on a guess."""

import pytest

from bot.actions.recover_leaked_manifests import _lost
from bot.domain.errors import Refused
from bot.domain.findings import LeakStanding
from tests.cases import Tale
from tests.found import leaks


def test_untold_manifests_are_refused_with_what_to_ask() -> None:
    """Neither is the job said to commit them, nor are they said not to be there."""
    tale = Tale().flink_runs("a").commits("a", 5).leaves_manifest("a", 3)

    with pytest.raises(Refused) as refused:
        _lost(leaks(*tale.manifests, standing=LeakStanding.UNTOLD))

    assert "may have been read again" in refused.value.found
    assert "missing_positions" in refused.value.remedy
