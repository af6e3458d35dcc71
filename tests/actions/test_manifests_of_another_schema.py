"""Leaked files that were written for another schema than any of the table's are refused with what to do."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.actions.recover_leaked_manifests import propose
from bot.domain.errors import Refused
from bot.domain.file_changes import FileSurvey
from bot.domain.findings import LeakStanding
from tests.cases import Tale
from tests.found import leaks


def test_a_strange_schema_is_refused_before_anything_is_proposed() -> None:
    """What was expected, what was found, and that the source gives the rows in the present schema."""
    tale = Tale().flink_runs("a").commits("a", 5).leaves_manifest("a", 3)
    found = FileSurvey(add=None, remove=None, unfit=("x.avro: field 99 of its schema 9 is discount (long)",))
    case = tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED))
    plan: Any = SimpleNamespace(case=case, survey=lambda *_: found)

    with pytest.raises(Refused, match="do not fit the table") as refused:
        propose(plan)

    assert "field 99 of its schema 9 is discount (long)" in refused.value.found
    assert "Replay their source range" in refused.value.remedy
