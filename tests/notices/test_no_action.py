""" "No action needed" is said of a table that was found healthy, or is trusted, and of no other."""

from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store, open_store
from bot.incident.diagnosis import Remedy
from bot.incident.entries import IncidentOpened, Verified, WaterlineMoved
from bot.incident.incident import Incident
from bot.notices.affecting import affected_commits
from bot.observation.errors import Refused
from bot.observation.evidence import Verdict
from bot.observation.ids import SnapshotId
from bot.service.notices.policy import refuse_false_comfort
from tests import orders_table as orders
from tests.decisions import PROPOSAL
from tests.incidents import Story, healthy

KIND = "no_action"
BEFORE = SnapshotId(orders.HEAD - 1000)
"""The commit below the head."""


@pytest.fixture
def story(record: Store) -> Story:
    """An incident is open, and its table under review."""
    return Story(record.journal).opens()


def is_refused(incident: Incident) -> bool:
    """Whether consumers may not be told that nothing to do."""
    try:
        refuse_false_comfort(incident, KIND)
    except Refused:
        return True
    return False


def test_a_diagnosed_fault_is_not_told_as_nothing(story: Story) -> None:
    """F2, whose rows nobody has counted: consumers would remove their pins, and the gate would stay shut."""
    story.diagnoses()

    with pytest.raises(Refused, match=r"run b92e04 was started.*Nothing was sent"):
        refuse_false_comfort(story.incident, KIND)


@pytest.mark.parametrize("remedy", [Remedy.WAIT, Remedy.TELL_CONSUMERS])
def test_what_asks_for_patience_or_for_words_is_not_nothing(story: Story, remedy: Remedy) -> None:
    """Flink is still at work, or events are older than promised."""
    with pytest.raises(Refused, match="The job runs and main is whole"):
        refuse_false_comfort(story.says(healthy(remedy)).incident, KIND)


def test_what_nobody_has_diagnosed_is_not_known_to_be_nothing(story: Story) -> None:
    """Silence of the evidence is none either."""
    with pytest.raises(Refused, match="There is no diagnosis"):
        refuse_false_comfort(story.incident, KIND)


def test_a_healthy_table_needs_nothing(story: Story) -> None:
    """The mark follows the words."""
    assert not is_refused(story.says(healthy()).incident)


@pytest.mark.parametrize("task", ["duplicate_rows", "duplicate_files", "missing_files", "unreadable_files"])
def test_what_evidence_has_found_since_is_not_nothing(story: Story, task: str) -> None:
    """Of rows or of files; also where a later look gave no answer."""
    story.says(healthy()).answers(task).answers(task, Verdict.INCONCLUSIVE)

    with pytest.raises(Refused, match="The newest evidence says otherwise"):
        refuse_false_comfort(story.incident, KIND)


@pytest.mark.parametrize("task", ["missing_files", "unreadable_files"])
def test_reads_that_failed_have_left_no_wrong_results(story: Story, task: str) -> None:
    """Once the files are there again, what was read is right."""
    story.says(healthy()).answers(task).answers(task, Verdict.RULED_OUT)

    assert not is_refused(story.incident)


@pytest.mark.parametrize("task", ["duplicate_rows", "missing_positions", "duplicate_files"])
def test_rows_that_others_mended_were_wrong_all_the_same(story: Story, task: str) -> None:
    """Somebody mended them, or the job brought them: whoever had read them is told to run again, after a proof."""
    story.answers(task, head=BEFORE).answers(task, Verdict.INCONCLUSIVE).answers(task, Verdict.RULED_OUT)
    story.says(healthy())

    with pytest.raises(Refused, match=r"220 order ids live more than once.*propose verify_current_state.*recovered"):
        refuse_false_comfort(story.incident, KIND)
    story.says(WaterlineMoved(snapshot=orders.HEAD, status="trusted"))
    with pytest.raises(Refused, match=r"may have read wrong rows.*notify recovered") as refused:
        refuse_false_comfort(story.incident, KIND)
    refuse_false_comfort(story.incident, "recovered")

    assert "verify_current_state" not in refused.value.remedy


@pytest.mark.parametrize("found", [Verdict.CONFIRMED, Verdict.RULED_OUT])
def test_what_is_spared_and_what_is_to_run_again_is_told_from_one_rule(story: Story, found: Verdict) -> None:
    """Where consumers may not be told that nothing was wrong, `recovered` names the commits that were."""
    story.answers(verdict=found, head=BEFORE).answers(verdict=Verdict.RULED_OUT)
    story.says(healthy(), WaterlineMoved(snapshot=orders.HEAD, status="trusted"))

    told = affected_commits(story.incident, orders.table_state())

    assert is_refused(story.incident) == (told != ()) == (found is Verdict.CONFIRMED)


@pytest.mark.parametrize("task", ["duplicate_rows", "missing_positions", "duplicate_files"])
def test_one_head_has_the_same_rows_whatever_was_asked_of_them(story: Story, task: str) -> None:
    """The contract named a wrong key, and names another now: nobody has read a row that was wrong."""
    story.answers(task).answers(task, Verdict.RULED_OUT).says(healthy())
    assert not is_refused(story.incident)

    story.says(WaterlineMoved(snapshot=orders.HEAD, status="trusted"))

    assert affected_commits(story.incident, orders.table_state()) == ()


def test_what_was_wrong_on_a_repairs_branch_nobody_has_read(story: Story) -> None:
    """Counted there, and right on main."""
    story.answers(branch="repair", head=BEFORE).answers(verdict=Verdict.RULED_OUT).says(healthy())

    assert not is_refused(story.incident)


def test_a_table_that_is_trusted_needs_nothing_whatever_was_diagnosed_before(story: Story) -> None:
    """A repair of the job alone was proven: main was not moved."""
    story.diagnoses().says(WaterlineMoved(snapshot=orders.HEAD, status="trusted"))

    assert not is_refused(story.incident)


def test_a_failed_proof_is_not_talked_away(story: Story) -> None:
    """A diagnosis that finds nothing says less than a proof that failed."""
    story.proposes().says(Verified(proposal=PROPOSAL, passed=False, checks=(), evidence=(), head=orders.HEAD))

    with pytest.raises(Refused, match="verify_current_state"):
        refuse_false_comfort(story.says(healthy()).incident, KIND)


def test_planned_work_in_which_nothing_was_found_needs_no_diagnosis(tmp_path: Path) -> None:
    """No doubt was ever raised."""
    with closing(open_store(f"sqlite:///{tmp_path / 'planned.db'}")) as store:
        opened = Story(store.journal).opens().incident.opened
        planned = opened.model_copy(
            update={"runbook": opened.runbook.model_copy(update={"is_planned": True}), "table": "sales.refunds"}
        )
        assert isinstance(planned, IncidentOpened)
        story = Story(store.journal)
        story.id = store.journal.open(planned, by="U0ANA00001", at=orders.NINE).incident_id

        assert not is_refused(story.incident)
