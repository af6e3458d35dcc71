"""The site is built without a network, and a broken link is named."""

import re
from pathlib import Path

import pytest
import yaml

from tests.docs import reference
from tests.docs.site import ROOT, Broken, about, build, check_links, is_there, navigation, pages


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once; raises for a warning, a broken link, and a page that is in no navigation."""
    return build(tmp_path_factory.mktemp("docs"))


def test_each_page_is_there_for_people_and_for_programs(site: Path) -> None:
    """As HTML and as Markdown; `llms.txt` names each with what it is about."""
    listed = re.findall(r"^- \[.+\]\((.+\.md)\): \S", (site / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE)

    assert {str(page.relative_to(ROOT)) for page in pages()} == set(listed)
    assert [each for each in listed if not (site / each).is_file()] == []
    shown = [(site / each.replace("README.md", "index.md")).with_suffix(".html") for each in listed]
    assert [page for page in shown if not page.is_file()] == []


def test_each_alert_leads_to_a_place_of_the_site(site: Path) -> None:
    """Its runbook: what it means, and what to do. The places are those of the built page, not of its source."""
    rules = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text(encoding="utf-8"))["groups"]
    urls = [rule["annotations"]["runbook_url"] for group in rules for rule in group["rules"]]

    lost = [url for url in urls if not is_there(site, url.removeprefix("https://waterline-docs.example.com/"))]

    assert urls
    assert lost == []
    assert not is_there(site, "docs/alerts.html#nothing")


def test_the_runbooks_are_there_with_the_steps_that_they_share(site: Path) -> None:
    """As people read them: no block for programs, and each outcome leads to a step of the page."""
    page = (site / "runbooks/duplicate-rows.md").read_text(encoding="utf-8")

    assert page.startswith("# Consumers see rows twice\n")
    assert "- wait: [Wait for Flink](#wait-for-flink)\n" in page
    assert "### Wait for Flink\n" in page
    assert "```" not in page


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ('<a href="gone.html">', "gone.html leads to no file"),
        ('<img src="gone.png">', "gone.png leads to no file"),
        ('<a href="#gone">', "#gone leads to no place"),
        ('<script src="https://elsewhere.example/x.js">', "loads https://elsewhere.example/x.js"),
    ],
)
def test_a_link_that_leads_nowhere_is_named(tmp_path: Path, html: str, problem: str) -> None:
    """With the page that has it."""
    (tmp_path / "page.html").write_text(f'<p id="here"><a href="#here"><a href="https://x.example/">{html}')

    with pytest.raises(Broken, match=f"page.html: {re.escape(problem)}"):
        check_links(tmp_path)


def test_the_generated_pages_are_what_the_code_says() -> None:
    """Each command, address and number; `make reference` writes them anew."""
    assert reference.commands() == (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert reference.addresses() == (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def test_each_page_says_first_what_it_is_about() -> None:
    """Below its title is a sentence."""
    assert [str(page) for _part, _title, page in navigation() if len(about(page).split()) < 3] == []
