"""Whatever happens to a table, the last good snapshot that a mode names is one that main has."""

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import bot.diagnosis
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import Matches
from tests.diagnosis.little_evidence import TASKS, case_of
from tests.diagnosis.made_up_histories import BAD, CHANGES, GOOD, Story, stories
from tests.made_up import EXAMPLES

pytestmark = pytest.mark.made_up

MODES = scan(bot.diagnosis)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    stories(GOOD | BAD, CHANGES),
    st.lists(st.sampled_from(sorted(TASKS)), max_size=1),
    st.sampled_from(["RUNNING", "FAILED", "unseen"]),
)
def test_a_last_good_snapshot_is_on_main(story: Story, without: list[str], flink: str) -> None:
    """In every mode, wherever the window was to begin, and whatever main has lost since."""
    if flink == "unseen":
        story.world.tale.flink_is_down()
    else:
        story.world.tale.becomes(story.world.run, flink)
    case = case_of(*story, without)
    on_main = {s.snapshot_id for s in story.world.chain()}

    found = {code: module.examine(case) for code, module in MODES.items()}

    named = {code: one.last_good for code, one in found.items() if isinstance(one, Matches) and one.last_good}
    event("names a last good" if named else "names none")
    assert {code: good for code, good in named.items() if good not in on_main} == {}
