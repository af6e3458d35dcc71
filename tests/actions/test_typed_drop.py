"""That rows of other writers may go is a typed choice, of the actions that can drop them only."""

from types import SimpleNamespace

import pytest

from bot.actions import rewind_table_and_job, take_savepoint
from bot.domain.errors import Refused
from bot.domain.replay_bounds import typed_proposal
from bot.service.choosing import may_drop


def test_the_choice_stands_between_action_and_reason() -> None:
    """Nothing else is a yes."""
    typed = typed_proposal("rewind_table_and_job drop_others=yes the backfill is run again")

    assert (typed.drops_others, typed.reason, typed.bounds) == (True, "the backfill is run again", {})
    assert not typed_proposal("rewind_table_and_job because of drop_others=yes").drops_others
    assert not typed_proposal("rewind_table_and_job").drops_others
    assert typed_proposal("replay_rows positions=1..2").bounds == {"positions": "1..2"}


def test_an_action_that_drops_nothing_of_others_says_so() -> None:
    """With the one that does."""
    rewind, savepoint = (
        SimpleNamespace(action=each.ACTION, propose=each.propose) for each in (rewind_table_and_job, take_savepoint)
    )
    may_drop(rewind, True)  # type: ignore[arg-type]
    may_drop(savepoint, False)  # type: ignore[arg-type]

    with pytest.raises(Refused, match="propose rewind_table_and_job"):
        may_drop(savepoint, True)  # type: ignore[arg-type]
