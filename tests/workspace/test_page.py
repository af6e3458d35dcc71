"""The page in a real browser: typed, clicked and read as a person would."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from slack_bolt import App
from slack_sdk import WebClient

from bot.workspace import Actor, Workspace
from tests.chromium import chromium
from tests.workspace.asking import ONCALL
from tests.workspace.blocks import actions, button, confirm, modal, plain, section, text_field
from tests.workspace.conftest import Connect, eventually

PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Debian chromium, headless."""
    expect.set_options(timeout=PATIENCE_MS)
    with chromium() as opened:
        yield opened


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


pytestmark = [pytest.mark.full, pytest.mark.browser]


def test_a_command_opens_a_form_that_objects_and_then_closes(app: App, connect: Connect, page: Page) -> None:
    """Type the command, see it offered, fill the modal, read the objection, mend it, see the answer."""
    opens_a_form(app)
    connect()
    composer = page.get_by_test_id("composer")

    composer.press_sequentially("/wat")
    expect(page.get_by_role("option")).to_contain_text("open [table]")
    composer.press("Enter")
    expect(composer).to_have_value("/waterline ")
    composer.press_sequentially("open orders")
    composer.press("Enter")
    form = page.get_by_role("dialog", name="Open an incident")
    page.get_by_test_id("modal-submit").click()
    expect(form.get_by_test_id("input-error")).to_have_text("Please complete this required field.")
    form.get_by_label("What did you see?").fill("twice")
    page.get_by_test_id("modal-submit").click()
    expect(form.get_by_test_id("input-error")).to_have_text("Say a little more.")
    expect(form.get_by_label("What did you see?")).to_have_value("twice")
    form.get_by_label("What did you see?").fill("twice the revenue")
    page.get_by_test_id("modal-submit").click()

    expect(form).to_have_count(0)
    answer = page.get_by_test_id("message").last
    expect(answer.get_by_test_id("only-you")).to_have_text("Only visible to you")
    expect(answer).to_contain_text("Opened: twice the revenue")


def test_a_phone_goes_to_the_field_that_is_wrong(app: App, connect: Connect, page: Page) -> None:
    """It lay below the edge: who pressed the button saw nothing happen."""
    fields = [text_field(f"Field {number}", f"f{number}") for number in range(12)]

    @app.command("/waterline")
    def command(ack: Any, body: Any, client: WebClient) -> None:
        ack()
        client.views_open(trigger_id=body["trigger_id"], view=modal("Long form", *fields, callback_id="long"))

    @app.view("long")
    def submitted(ack: Any) -> None:
        ack(response_action="errors", errors={"f11": "This is none."})

    connect()
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_test_id("composer").fill("/waterline")
    page.get_by_test_id("composer").press("Escape")
    page.get_by_test_id("composer").press("Enter")
    for number in range(12):
        page.get_by_label(f"Field {number}", exact=True).fill("x")
    page.get_by_label("Field 0", exact=True).focus()

    page.get_by_test_id("modal-submit").click()

    expect(page.get_by_test_id("input-error")).to_be_in_viewport()
    expect(page.get_by_label("Field 11", exact=True)).to_be_focused()


def test_a_confirmed_click_updates_the_message_in_place(
    ws: Workspace, app: App, client: WebClient, connect: Connect, page: Page
) -> None:
    """Declined nothing is sent; confirmed the message changes where it stands, without a new one."""

    @app.action("approve")
    def approve(ack: Any, body: Any, client: WebClient) -> None:
        ack()
        by = body["user"]["id"]
        client.chat_update(channel=ONCALL, ts=body["message"]["ts"], text=f"Approved by <@{by}>", blocks=[])

    connect()
    row = actions(button("Approve", "approve", style="primary", confirm=confirm("Approve the rollback?")))
    client.chat_postMessage(channel=ONCALL, text="Proposal", blocks=[section("*Proposal 3*"), row])
    message = page.get_by_test_id("message").last

    message.get_by_role("button", name="Approve").click()
    page.get_by_test_id("confirm-no").click()
    message.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alertdialog")).to_contain_text("This cannot be undone.")
    page.get_by_test_id("confirm-yes").click()

    expect(message).to_contain_text("Approved by @Ana Ribeiro")
    expect(page.get_by_test_id("message")).to_have_count(1)
    expect(message.get_by_role("button", name="Approve")).to_have_count(0)
    eventually(lambda: bool(ws.wire("delivery", "block_actions")))
    assert len(ws.wire("delivery", "block_actions")) == 1


def test_a_click_without_an_answer_shows_a_triangle(
    ws: Workspace, app: App, client: WebClient, connect: Connect, page: Page
) -> None:
    """While Slack waits the button turns; when the time is over there is a warning."""
    was_seen = threading.Event()

    @app.action("slow")
    def slow(ack: Any) -> None:
        was_seen.wait(60)
        ack()

    connect()
    client.chat_postMessage(channel=ONCALL, text="x", blocks=[actions(button("Slow", "slow"), button("Ignored", "i"))])
    page.get_by_role("button", name="Slow").click()
    expect(page.locator(".button.is-pending")).to_have_count(1)
    was_seen.set()
    expect(page.locator(".button.is-pending")).to_have_count(0)
    ws.faults.sets_rules(ack_s=0.4)

    page.get_by_role("button", name="Ignored").click()

    expect(page.get_by_test_id("click-failed")).to_have_attribute("title", "This app didn't respond in time.")


def test_markup_in_messages_is_inert(client: WebClient, page: Page) -> None:
    """Nothing in a message becomes HTML or a script, wherever it stands; entities are decoded exactly once."""
    attack = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    table = {"type": "table", "rows": [[{"type": "raw_text", "text": attack}]]}
    client.chat_postMessage(
        channel=ONCALL,
        text=attack,
        blocks=[
            {"type": "header", "text": plain(attack)},
            section(f"{attack} &lt;b&gt; &amp;lt; <javascript:alert(1)|press me>"),
            table,
            actions(button(attack[:70], "a")),
        ],
    )

    message = page.get_by_test_id("message").last

    expect(message.locator(".block-section")).to_contain_text("<b> &lt; press me")
    expect(message.get_by_test_id("table")).to_contain_text("<script>document.title='owned'</script>")
    expect(message.locator("script, .content img, a[href^=javascript]")).to_have_count(0)
    assert "owned" not in page.title()


def test_pings_stand_out_and_a_thread_opens(client: WebClient, ben: Actor, page: Page) -> None:
    """An injected ping would be seen; replies open at the side and arrive live."""
    root = client.chat_postMessage(channel=ONCALL, text="<!channel> look, <!subteam^S0APPROVE1>")["ts"]
    client.chat_postMessage(channel=ONCALL, text="evidence :mag:", thread_ts=root)

    pings = page.get_by_test_id("messages").get_by_test_id("ping")
    expect(pings).to_have_text(["@channel", "@orders-approvers"])
    page.get_by_role("button", name="1 reply").click()
    thread = page.get_by_test_id("thread-messages")
    expect(thread.get_by_test_id("message")).to_have_count(2)
    ben.says("on it", thread_ts=root)

    expect(thread.get_by_test_id("message").last).to_contain_text("on it")
    expect(page.get_by_role("button", name="2 replies")).to_be_visible()


def test_another_person_sees_their_own_workspace(client: WebClient, page: Page) -> None:
    """Switching the person switches channels, unread counts and what is visible."""
    client.chat_postMessage(channel="C0REVENUE2", text="orders is under review")
    client.chat_postEphemeral(channel=ONCALL, user="U0ANA00001", text="for Ana alone")
    expect(page.get_by_test_id("message")).to_have_count(1)

    page.get_by_test_id("person-switcher").click()
    page.get_by_test_id("be-finn").click()
    expect(page.get_by_text("You are Finn")).to_be_visible()
    expect(page.get_by_test_id("message")).to_have_count(0)
    page.get_by_test_id("person-switcher").click()
    page.get_by_test_id("be-dana").click()

    expect(page.get_by_test_id("place")).to_have_text("revenue-analytics")
    expect(page.get_by_test_id("message")).to_contain_text("orders is under review")


def test_unread_counts_and_the_home_and_the_wire(ws: Workspace, app: App, connect: Connect, page: Page) -> None:
    """A channel elsewhere counts; the Home is what the app published; the drawer shows calls."""

    @app.event("app_home_opened")
    def home(event: Any, client: WebClient) -> None:
        client.views_publish(user_id=event["user"], view={"type": "home", "blocks": [section("Ana's tables")]})

    connect()

    page.get_by_test_id("app-home").click()
    expect(page.get_by_test_id("home")).to_contain_text("Ana's tables")
    ws.person("ben").says("anyone?")
    expect(page.get_by_test_id("channel-orders-oncall")).to_contain_text("1")
    page.get_by_test_id("wire-toggle").click()
    expect(page.get_by_test_id("wire")).to_contain_text("views.publish")


def test_the_page_fits_a_phone(browser: Browser, ws: Workspace, client: WebClient) -> None:
    """At 390 pixels nothing sticks out, and the channels are behind a button."""
    client.chat_postMessage(channel=ONCALL, text="x " * 300, blocks=[section("`" + "wide" * 60 + "`")])
    phone = browser.new_page(viewport={"width": 390, "height": 844})
    phone.goto(f"{ws.url}/?as=ana")
    expect(phone.get_by_test_id("message")).to_be_visible()

    width = phone.evaluate("document.documentElement.scrollWidth")
    phone.get_by_role("button", name="Channels").click()
    expect(phone.get_by_test_id("channel-general")).to_be_in_viewport()
    phone.close()

    assert width == 390


def test_a_permalink_points_out_its_message(browser: Browser, ws: Workspace, client: WebClient) -> None:
    """The address of a reply opens its channel and its thread."""
    root = client.chat_postMessage(channel="C0REVENUE2", text="root")["ts"]
    reply = client.chat_postMessage(channel="C0REVENUE2", text="the reply", thread_ts=root)["ts"]
    link = client.chat_getPermalink(channel="C0REVENUE2", message_ts=reply)["permalink"]
    page = browser.new_page()

    page.goto(f"{link}?as=dana")

    expect(page.locator(".pointed-out")).to_contain_text("the reply")
    page.close()


def test_a_date_is_shown_in_the_zone_of_who_reads_it(browser: Browser, ws: Workspace, client: WebClient) -> None:
    """As Slack does; its fallback is what others and tests read."""
    client.chat_postMessage(channel=ONCALL, text="by <!date^1793714531^{time_secs}|14:02:11 UTC>")
    page = browser.new_page(timezone_id="Asia/Tokyo")

    page.goto(f"{ws.url}/?as=ana&channel=orders-oncall")

    expect(page.get_by_text("by 23:02:11")).to_be_visible()
    page.close()
