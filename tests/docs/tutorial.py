"""What the tutorial has people do, done in a browser. It remembers each action, to be held against the page."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.slack_page import SlackPage

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-incident.md"
SIZE = {"width": 1280, "height": 860}
_SOON_MS = 120_000
_SEND = re.compile("^Send")
_NUMBERS = re.compile(
    r"(\d+) keys are in the table twice.* from checkpoint (\d+)\. It had already committed checkpoint (\d+)\."
    r".* starts the job from checkpoint \3\.",
    re.DOTALL,
)
"""What the page says of the recorded incident: duplicate keys, and the two checkpoints."""


def actions() -> list[str]:
    """Everything that the page says in bold: what to type, press, choose and whom to become, in its order."""
    return [each.strip("`") for each in re.findall(r"\*\*(.+?)\*\*", PAGE.read_text(encoding="utf-8"))]


@contextmanager
def tour() -> Iterator[str]:
    """`waterline tour`, as the page starts it; its address."""
    command = [sys.executable, "-m", "bot.cli", "tour", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(line.split()[-1] for line in process.stdout if "http://" in line)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


class Tutorial(SlackPage):
    """Ana, Ben and Dana in one tab."""

    def __init__(self, page: Page, url: str, shows: Callable[[str], None] = lambda _name: None) -> None:
        super().__init__(page, f"{url}/?as=ana&channel=orders-oncall")
        self._tab = page
        self._shows = shows
        self.did: list[str] = []
        numbers = _NUMBERS.search(PAGE.read_text(encoding="utf-8"))
        assert numbers is not None, f"{PAGE} does not say what the recording is about"
        self._keys, self._older, self._newer = numbers.groups()

    def goes_through(self) -> None:
        """All six parts. Raises where something does not appear that the page promises."""
        self._opens()
        self._reads()
        self._proposes()
        self._approves()
        self._notifies()
        self._closes()

    def _opens(self) -> None:
        self.types("/waterline open")
        expect(self.modal).to_contain_text("What do you see?", timeout=_SOON_MS)
        self.modal.locator("select[data-action-id=runbook]").select_option(label="Consumers see rows twice")
        self.did += ["/waterline open", "Consumers see rows twice"]
        self._submits("Open")
        expect(self.modal).to_contain_text("latest snapshot with no known problem", timeout=_SOON_MS)
        self._shows("warning")
        self._submits(_SEND)

    def _reads(self) -> None:
        for found in (
            "Duplicate rows: problem", f"{self._keys} duplicate keys", "Missing positions: OK",
            "Diagnose: F2", f"from checkpoint {self._older}", f"committed checkpoint {self._newer}",
        ):  # fmt: skip
            expect(self.card).to_contain_text(found, timeout=_SOON_MS)
        expect(self.card.get_by_role("button", name="Propose")).to_be_visible(timeout=_SOON_MS)
        self.did.append("5 steps done, the last: Diagnose")
        self.card.get_by_text(self.did[-1]).click()
        self._shows("card")

    def _proposes(self) -> None:
        self._clicks("Propose", on_card=True)
        for said in (f"to checkpoint {self._newer}", "Removes from main", "How to undo it"):
            expect(self.proposal).to_contain_text(said, timeout=_SOON_MS)
        self._shows("proposal")
        self._clicks("Approve")
        refusal = self.message("Only visible to you").filter(has_text="You proposed this, so somebody else must")
        expect(refusal).to_be_visible(timeout=_SOON_MS)

    def _approves(self) -> None:
        self._becomes("ben")
        self._clicks("Approve")
        expect(self.proposal).to_contain_text("Approved by @Ben", timeout=_SOON_MS)
        self._becomes("ana")
        self._clicks("Execute")
        expect(self.proposal).to_contain_text("Done and verified at head", timeout=_SOON_MS)
        thread = self.opens_thread(self.proposal)
        for said in (f"The job runs from checkpoint {self._newer}", "No duplicate rows", "No missing rows"):
            expect(thread).to_contain_text(said, timeout=_SOON_MS)
        self._shows("proven")

    def _notifies(self) -> None:
        for title in ("Look again: duplicate rows", "Look again: missing positions"):
            expect(self.card).to_contain_text(f"{title}: OK", timeout=_SOON_MS)
        self._clicks("Preview and send…", on_card=True)
        expect(self.modal).to_contain_text("is verified again", timeout=_SOON_MS)
        self._submits(_SEND)
        expect(self.card).to_contain_text("Tell consumers that the table recovered: sent", timeout=_SOON_MS)
        self._becomes("dana")
        self._looks_at("revenue-analytics")
        for said in ("run again", "How we know"):
            expect(self.message("is verified again")).to_contain_text(said, timeout=_SOON_MS)
        self._shows("notice")

    def _closes(self) -> None:
        self._becomes("ana")
        self._looks_at("orders-oncall")
        self._clicks("Open the review", on_card=True)
        expect(self.card.get_by_role("button", name="Close…")).to_be_visible(timeout=_SOON_MS)
        self.clicks("Close…", self.card, confirmed=True)
        self.did.append("Close…")
        self.modal.locator("textarea").first.fill("Recovered and verified; consumers are notified.", timeout=_SOON_MS)
        self._submits("Close")
        expect(self._tab.get_by_test_id("messages")).to_contain_text("Closed by", timeout=_SOON_MS)
        self._clicks("Export the record", on_card=True)
        thread = self.opens_thread(self.card)
        for name in (".html", ".json", ".md"):
            expect(thread.get_by_text(name)).to_be_visible(timeout=_SOON_MS)

    def _submits(self, label: str | re.Pattern[str]) -> None:
        button = self._tab.get_by_test_id("modal-submit").filter(has_text=label)
        expect(button).to_be_enabled(timeout=_SOON_MS)
        self.did.append(button.inner_text())
        button.click()

    def _clicks(self, label: str, *, on_card: bool = False) -> None:
        self.clicks(label, self.card if on_card else self.proposal, confirmed=not on_card)
        self.did.append(label)

    def _becomes(self, name: str) -> None:
        self.becomes(name)
        self.did.append(name.capitalize())

    def _looks_at(self, channel: str) -> None:
        self.looks_at(channel)
        self.did.append(channel)
