"""One browser tab on the workspace's page, in the words of a person who sits before it."""

import re

from playwright.sync_api import Locator, Page, expect

_QUICK_MS = 15_000


class SlackPage:
    """Types, clicks, switches people; waits for what is on the screen and never sleeps."""

    def __init__(self, page: Page, url: str) -> None:
        self._page = page
        page.goto(url)
        expect(page.locator("body[data-live=on]")).to_be_attached(timeout=_QUICK_MS)

    def becomes(self, name: str) -> None:
        """Another person takes the seat, and lands in a channel of theirs."""
        self._page.get_by_test_id("person-switcher").click()
        self._page.get_by_test_id(f"be-{name}").click()
        expect(self._page.get_by_test_id("person-switcher")).to_contain_text(name.capitalize(), timeout=_QUICK_MS)

    def looks_at(self, channel: str) -> None:
        """Opens a channel."""
        self._page.get_by_test_id(f"channel-{channel}").click()
        expect(self._page.get_by_test_id("place")).to_have_text(channel, timeout=_QUICK_MS)

    def types(self, text: str) -> None:
        """Writes into the channel's composer and sends it."""
        composer = self._page.get_by_test_id("composer")
        composer.fill(text)
        composer.press("Escape")
        composer.press("Enter")

    def chooses(self, field: str, value: str) -> None:
        """Chooses an option of the modal."""
        self.modal.locator(f"select[data-action-id={field}]").select_option(value)

    def writes(self, text: str) -> None:
        """Fills the modal's text area."""
        self.modal.locator("textarea").first.fill(text)

    def submits(self, label: str | re.Pattern[str]) -> None:
        """Waits for the modal whose submit button reads so, and presses it."""
        button = self._page.get_by_test_id("modal-submit").filter(has_text=label)
        expect(button).to_be_enabled(timeout=60_000)
        button.click()

    def clicks(self, label: str, message: Locator, *, confirmed: bool = False) -> None:
        """Presses a button of a message, and says yes when it asks."""
        message.get_by_role("button", name=label, exact=True).click(timeout=60_000)
        if confirmed:
            self._page.get_by_test_id("confirm-yes").click()

    def opens_thread(self, message: Locator) -> Locator:
        """The thread of a message."""
        message.get_by_test_id("replies").click(timeout=60_000)
        return self._page.locator("#thread")

    @property
    def modal(self) -> Locator:
        """The modal on top."""
        return self._page.get_by_test_id("modal")

    @property
    def card(self) -> Locator:
        """The incident's card."""
        return self._showing(re.compile("Trusted up to|No known problem up to|Possibly good up to"))

    @property
    def proposal(self) -> Locator:
        """The proposal's message."""
        return self._showing(re.compile(" · proposed by "))

    def message(self, text: str) -> Locator:
        """The newest message of the channel that shows this text."""
        return self._showing(re.compile(re.escape(text)))

    def _showing(self, text: re.Pattern[str]) -> Locator:
        return self._page.get_by_test_id("messages").get_by_test_id("message").filter(has_text=text).last
