"""The scripted walk ends where it should: also at a button that is clicked in vain."""

from types import SimpleNamespace
from typing import cast

import pytest

from bot.cli.walk import Walk
from bot.workspace import NotShown, SeenMessage, Workspace


class _Refusing:
    """Everybody at once, of an incident at the end of its runbook whose close is refused in the form."""

    def __init__(self) -> None:
        self.modal = SimpleNamespace(plain="Consumers wait for word.", submit=None)
        self.clicked = 0

    def person(self, _name: str) -> "_Refusing":
        """The same for all."""
        return self

    def clicks(self, _label: str, _card: object) -> None:
        """Opens the form."""
        self.clicked += 1

    def fills(self, _values: object) -> None:
        """A reason."""

    def submits(self) -> None:
        """It is refused."""

    def messages(self, _channel: str) -> list[SeenMessage]:
        """Nothing but the card, which never changes."""
        shown = {"author": "Waterline", "is_ephemeral": False}
        card = SimpleNamespace(
            **shown, plain="wl-1", buttons=("Add a note…", "Close…"), replies=(), channel="C1", ts="1"
        )
        return [cast("SeenMessage", card)]


class _Impatient(Walk):
    click_patience_s = 0.1

    def _open(self) -> None:
        """It is open."""


def test_a_button_that_is_clicked_in_vain_ends_the_walk_with_what_the_form_says() -> None:
    """Twice is enough: it went on for as long as the walk had patience, and said nothing of the form."""
    world = _Refusing()
    walk = _Impatient(cast("Workspace", world), "missing-rows", lambda _line: None)

    with pytest.raises(NotShown, match=r"\[Close…\] changes nothing. The form shows: Consumers wait for word."):
        walk.run()

    assert world.clicked == 1
