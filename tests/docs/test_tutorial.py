"""The tutorial, done as its page says."""

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import tab  # noqa: F401 - a fixture
from tests.docs.tutorial import Tutorial, actions, tour

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.timeout(400)]


def test_whoever_does_what_the_page_says_comes_to_its_end(tab: Page) -> None:  # noqa: F811
    """Each bold word of the page is an action; the browser does all of them in this order."""
    with tour() as url:
        tutorial = Tutorial(tab, url)
        tutorial.goes_through()

    assert actions() == tutorial.did
