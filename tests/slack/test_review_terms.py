"""The form of a term of the review: what is typed is kept, or said not to be."""

from typing import Any

import pytest

from bot.domain.errors import Refused
from bot.domain.ids import UserId
from bot.slack.ids import Form
from bot.slack.requests import Submitted
from bot.slack.submits import answer_item

pytestmark = pytest.mark.smoke


def test_words_under_what_was_done_are_not_dropped_by_handing_the_term_on() -> None:
    """“Assign to the owner” is chosen when the form opens; who describes a fix easily leaves it so."""
    nobody: Any = None
    values = {"way": "assign", "owner": "U0BEN00001", "due": "2026-12-24", "reason": "Mended: the uid is pinned."}
    form = Submitted(user=UserId("U0ANA00001"), form=Form.TERM, about="wl-1/2", values=values, trigger="t")

    with pytest.raises(Refused, match="Nothing was saved") as refused:
        answer_item(nobody, form)

    assert "Mended: the uid is pinned." in str(refused.value)
