"""A rewind over other writers' commits is chosen by people: the step where it was refused says when."""

from pathlib import Path

import pytest

from bot.domain.runbook import ASKED_FOR, NOT_POSSIBLE, ActionStep
from tests.runbook.test_content import OF_FAULTS, read


@pytest.mark.parametrize("path", OF_FAULTS, ids=lambda path: path.stem)
def test_where_nothing_could_be_proposed_the_choice_is_told(path: Path) -> None:
    """Whom to ask, what to type if the rows may go, and what else."""
    book = read(path)
    proposed = next(s for s in book.steps if isinstance(s, ActionStep) and s.action == ASKED_FOR)
    by_hand = next(s for s in book.steps if s.id == proposed.branches[NOT_POSSIBLE])

    assert "/waterline propose rewind_table_and_job drop_others=yes" in by_hand.prose
    assert "/waterline propose deduplicate_rows" in by_hand.prose
