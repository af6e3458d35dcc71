"""The page as a real browser shows and sends it: on a phone, in light and dark, without a script."""

import re

import pytest
from playwright.sync_api import Browser

from tests.decisions import BEN
from tests.web.contrast import contrast
from tests.web.deciding.world import PATH, Person, World
from tests.web.test_pages import chromium

__all__ = ["chromium"]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_approver_reads_and_approves_on_a_phone(world: World, chromium: Browser, address: str, scheme: str) -> None:
    """No sideways scrolling at 320 pixels, text that stands out, and a form that the browser's own headers let in."""
    named = {"X-Forwarded-Email": "ben@acme.example"}
    context = chromium.new_context(
        viewport={"width": 320, "height": 640},
        color_scheme=scheme,  # type: ignore[arg-type]
        extra_http_headers=named,
    )
    page = context.new_page()
    page.goto(f"{address}{PATH}")
    width, paper, ink = page.evaluate(
        "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor, "
        "getComputedStyle(document.body).color]"
    )
    page.get_by_role("button", name="Approve").click()
    before = list(world.view.approvals)
    page.get_by_label("I have read all of this").check()
    page.get_by_role("button", name="Approve").click()
    page.get_by_text("The proposer or an approver can carry it out now.").wait_for()
    page.reload()
    context.close()

    assert width <= 320
    assert contrast(paper, ink) > 7
    assert [] == before
    assert [(BEN, "web")] == [(given.by, given.via) for given in world.view.approvals]


def test_the_page_carries_no_script_and_fetches_nothing(ben: Person) -> None:
    """As all pages; and nothing is typed into it that could become one."""
    text = ben.page.text

    assert not re.search(r"<script|<link|<img|<iframe|\son[a-z]+=|javascript:|url\(", text)
