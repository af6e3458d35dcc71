"""The page as Ana has it open, in the Debian chromium."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from slack_bolt import App
from slack_sdk import WebClient

from bot.workspace import Workspace
from tests.workspace.asking import ONCALL
from tests.workspace.blocks import modal, text_field

CHROMIUM = Path("/usr/bin/chromium")
PATIENCE_MS = 60_000
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Debian chromium, headless."""
    if not CHROMIUM.exists():
        pytest.skip("needs chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_MS)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, ws: Workspace) -> Iterator[Page]:
    """The page as Ana has it open; anything that goes wrong in its scripts fails the test."""
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{ws.url}/?as=ana&channel=orders-oncall")
    expect(page.get_by_test_id("place")).to_have_text("orders-oncall")

    yield page

    page.close()
    assert errors == []


def opens_a_form(app: App) -> None:
    """The app answers a command with a form, objects to fewer than six characters, and says what it opened."""

    @app.command("/waterline")
    def command(ack: Any, body: Any, client: WebClient) -> None:
        ack()
        form = modal("Open an incident", text_field("What did you see?", "what"), callback_id="form")
        client.views_open(trigger_id=body["trigger_id"], view=form)

    @app.view("form")
    def submitted(ack: Any, view: Any, client: WebClient, body: Any) -> None:
        said = view["state"]["values"]["what"]["value"]["value"]
        if len(said) < 6:
            ack(response_action="errors", errors={"what": "Say a little more."})
            return
        ack()
        client.chat_postEphemeral(channel=ONCALL, user=body["user"]["id"], text=f"Opened: {said}")
