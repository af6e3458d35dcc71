"""Pages as people read them, and bot and pages in one process.

How well one colour is told from another, as WCAG counts it.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

from bot.incident.entries import ProposalMade
from bot.observation.findings import RecoveryDeadline
from bot.service.record import Records
from bot.workspace import Workspace
from tests.chromium import chromium
from tests.decisions import PROPOSAL, rewind
from tests.patient_slack import PATIENT
from tests.slack.people import eventually
from tests.tables import ORDERS
from tests.web.conftest import CONTENT
from tests.web.scene import Scene


def contrast(one: str, other: str) -> float:
    """Of two colours, `#1d7a46`, `#fff` or `rgb(r, g, b)`: 1 to 21."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> list[float]:
    if colour.startswith("#"):
        digits = colour[1:] if len(colour) == 7 else "".join(each * 2 for each in colour[1:])
        return [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    return [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]


PAGES = ["/", f"/tables/{ORDERS}", "/incidents/wl-1", "/tables/sales.ordres"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Once for all tests here."""
    with chromium() as opened:
        yield opened


@pytest.mark.smoke
def test_the_overview_leads_to_each_table_and_incident(scene: Scene, web: httpx.Client) -> None:
    """State in words, why, and the way on; a table that could not be read is among them."""
    scene.opens().diagnoses()

    text = web.get("/").text

    assert 'href="/tables/sales.orders"' in text
    assert 'href="/incidents/wl-1"' in text
    assert ">under review</span>" in text
    assert ">unknown</span>" in text
    assert "There is no table sales.refunds." in text


@pytest.mark.smoke
def test_the_page_of_a_table_says_what_to_read_and_draws_the_waterline(scene: Scene, web: httpx.Client) -> None:
    """The picture comes from the table's metadata alone; the history from the record."""
    ends = datetime(2026, 11, 5, 14, 20, tzinfo=UTC)
    scene.opens().diagnoses(
        RecoveryDeadline(
            looked_at=ends, recoverable_until=ends, because="Kafka may delete orders/2", restore_point=None, limits=()
        )
    )

    text = web.get(f"/tables/{ORDERS}").text

    assert "then Kafka may delete orders/2" in text
    assert "Read the snapshot named here, not the head." in text
    assert f"VERSION AS OF {scene.good}" in text
    assert text.count("<polygon") == 5
    assert 'class="waterline"' in text
    assert "Questioned: incident wl-1 was opened." in text


def test_the_page_of_a_table_says_whose_it_is(web: httpx.Client) -> None:
    """As its contract does; nothing where it says nothing."""
    orders, refunds = web.get(f"/tables/{ORDERS}").text, web.get("/tables/sales.refunds").text

    assert "<dt>Owned by</dt><dd>Orders: Dana &lt;b&gt;Weiss&lt;/b&gt; (Owner)</dd>" in orders
    assert "Owned by" not in refunds


def test_commits_that_were_rolled_back_are_drawn_hollow(scene: Scene, web: httpx.Client) -> None:
    """After the recovery, the page shows what left the table and where the waterline stands now."""
    scene.opens().verifies().closes()

    text = web.get(f"/tables/{ORDERS}").text

    assert text.count('hollow"') == 2
    assert "Verified after incident wl-1." in text
    assert "Read the table as usual." in text


def test_a_table_whose_catalog_has_it_no_more_has_a_page_all_the_same(web: httpx.Client) -> None:
    """What is not known is said; nothing is named for certain."""
    found = web.get("/tables/sales.refunds")

    assert found.status_code == 200
    assert "The catalog could not be read, so no commit can be shown." in found.text
    assert "there is nothing to read in its place" in found.text
    assert found.text.count("There is no table sales.refunds.") == 1


@pytest.mark.smoke
def test_the_record_of_an_incident_names_its_people(scene: Scene, web: httpx.Client) -> None:
    """As they go by, and what they wrote is text."""
    scene.opens().diagnoses().proposes()

    text = web.get("/incidents/wl-1").text

    assert "Ana Ribeiro" in text
    assert "U0ANA00001" not in text
    assert "<b>too high</b>" not in text
    assert "&lt;b&gt;too high&lt;/b&gt;" in text


@pytest.mark.parametrize(
    ("path", "status"),
    [("/tables/sales.ordres", 404), ("/incidents/wl-9", 404), ("/incidents/wl-9/record.md", 404), ("/none", 404)],
)
def test_a_page_that_is_not_there_says_where_to_go(web: httpx.Client, path: str, status: int) -> None:
    """In three parts, as a page."""
    found = web.get(path)

    assert (status, "text/html; charset=utf-8") == (found.status_code, found.headers["content-type"])
    assert '<a href="/">All tables</a>' in found.text


def test_every_link_leads_somewhere_for_whoever_may_read(scene: Scene, guarded: httpx.Client) -> None:
    """Pages, JSON, OpenAPI document and files: by the password that a browser was asked for once."""
    scene.opens().diagnoses().proposes()
    pages = ["/", f"/tables/{ORDERS}", "/incidents/wl-1"]

    links = {link for path in pages for link in re.findall(r'href="(/[^"]*)"', guarded.get(path).text)}

    assert {"/v1/tables", "/v1/openapi.json", "/v1/incidents/wl-1", f"/v1/tables/{ORDERS}/trust"} <= links
    assert {f"/incidents/wl-1/record.{form}" for form in ("html", "md", "json")} <= links
    assert {200} == {guarded.get(link).status_code for link in links}
    assert {401} == {guarded.get(link, auth=("ana", "guess")).status_code for link in links}


@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_the_record_is_kept_as_a_file_that_proves_itself(scene: Scene, web: httpx.Client, form: str) -> None:
    """The very file that the terminal writes: no link leads back to the server."""
    scene.opens().diagnoses().proposes()

    found = web.get(f"/incidents/wl-1/record.{form}")

    proof = Records(CONTENT).prove(found.text)
    assert (None, None, 3) == (proof.fault, proof.not_compared, proof.seal.seq - 1)
    assert found.headers["content-disposition"] == f'attachment; filename="wl-1.{form}"'
    assert 'href="/' not in found.text


def test_no_page_carries_a_script_or_fetches_anything(scene: Scene, web: httpx.Client) -> None:
    """Whole in one answer: nothing from elsewhere, no handler in any element."""
    scene.opens().diagnoses().proposes()

    texts = [web.get(path).text for path in PAGES]

    assert not any(re.search(r"<script|<link|<img|<iframe|\son[a-z]+=|javascript:|url\(", text) for text in texts)


@pytest.mark.browser
@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_a_phone_and_can_be_read_in_the_dark(
    scene: Scene, browser: Browser, address: str, path: str
) -> None:
    """No sideways scrolling at 320 pixels; text stands out from what is behind it in both schemes."""
    scene.opens().diagnoses().proposes()

    for scheme in ("light", "dark"):
        context = browser.new_context(viewport={"width": 320, "height": 640}, color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(f"{address}{path}")
        width, paper, ink = page.evaluate(
            "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor, "
            "getComputedStyle(document.body).color]"
        )
        context.close()

        assert width <= 320
        assert contrast(paper, ink) > 7


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


def test_the_bot_serves_pages_that_call_people_by_their_names(scene: Scene, tmp_path: Path) -> None:
    """With the token it answers, and whoever Slack knows is named."""
    with Workspace(rules=PATIENT).serve() as slack:
        known = slack.person("ana").person
        scene.opens(by=known.id)
        rewound = ProposalMade(
            step=None,
            proposal=rewind(datetime.now(UTC)).model_copy(update={"proposed_by": known.id, "requirements": ()}),
        )
        scene.incidents.write(scene.id, by=known.id, decide=lambda _now: [rewound])
        config = scene.configured(slack={"base_url": slack.api_url, "min_message_interval": 0}, web={"port": 0})
        log = tmp_path / "bot.log"
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token, "WATERLINE_WEB_TOKEN": "t0"}
        command = [sys.executable, "-m", "bot.cli", "serve", "--no-warm", "--config", str(config)]
        with (
            log.open("wb") as output,
            subprocess.Popen(command, env={**os.environ, **secrets}, stdout=output, stderr=output) as process,
        ):
            try:
                eventually(lambda: "Pages, API and MCP server:" in log.read_text(), timeout_s=120)
                address = re.findall(r"http://127\.0\.0\.1:\d+", log.read_text())[0]
                with httpx.Client(base_url=address, auth=("", "t0")) as web:
                    page, trust = web.get("/incidents/wl-1").text, web.get(f"/v1/tables/{ORDERS}/trust").json()
                refused = httpx.get(f"{address}/")
                decided = httpx.post(f"{address}/incidents/wl-1/proposals/{PROPOSAL}", auth=("", "t0"))
            finally:
                process.send_signal(signal.SIGTERM)
                ended = process.wait(timeout=90)

    assert (0, 401, "under-review") == (ended, refused.status_code, trust["state"])
    assert 404 == decided.status_code
    assert 'href="#proposals"' in page
    assert "by Ana Ribeiro" in page
    assert known.id not in page
