"""Every colour of text can be read on every colour behind it, in both schemes and on paper."""

import re

import pytest

from tests.web.conftest import CONTENT
from tests.web.contrast import contrast

CSS = (CONTENT / "record.css").read_text(encoding="utf-8")
PALETTES = [dict(re.findall(r"--(\w+):(#\w+)", found)) for found in re.findall(r":root\{([^}]*)\}", CSS)]
"""Light, dark, and what print changes of light."""
SCHEMES = {"light": PALETTES[0], "dark": PALETTES[0] | PALETTES[1], "print": PALETTES[0] | PALETTES[2]}
TEXT = ("ink", "soft", "sea", "good", "bad", "warn")
BEHIND = ("paper", "card", "water")
ENOUGH = 4.5
"""Of WCAG 2.2, level AA, for text of any size."""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_is_told_from_what_is_behind_it(scheme: str) -> None:
    """Also what stands on the water of the ledger's picture."""
    colours = SCHEMES[scheme]

    faint = {
        f"{text} on {behind}": round(contrast(colours[text], colours[behind]), 2)
        for text in TEXT
        for behind in BEHIND
        if contrast(colours[text], colours[behind]) < ENOUGH
    }

    assert faint == {}
