"""The documentation site, built from the pages and runbooks of this repository without a network.

The pages keep their places and their links, so a link that works in the repository works on the site. Each page is
there as HTML and as Markdown, and `llms.txt` lists them for programs.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bot.runbook.parse import files_of
from tests.docs.runbooks import FOLDER, text_of

ROOT = Path(__file__).parents[2]
CONFIGURATION = ROOT / "docs" / "zensical.toml"
_ALONE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
_FOLDERS = ("docs", "deploy")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_SENTENCE = re.compile(r"\s*?([A-Z*]|`[^`])")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Broken(Exception):
    """Raised when the site has a broken link or a page that is not in its navigation. Its text is for a terminal."""


def sources() -> Iterator[Path]:
    """Every file of the site, below the repository: pages, pictures, and what they link to."""
    yield from (ROOT / name for name in _ALONE)
    for folder in _FOLDERS:
        yield from sorted(path for path in (ROOT / folder).rglob("*") if path.is_file() and path != CONFIGURATION)
    yield from files_of(FOLDER)


def pages() -> list[Path]:
    """The Markdown among them."""
    return [path for path in sources() if path.suffix == ".md"]


def navigation() -> Iterator[tuple[str, str, Path]]:
    """(part, title in the navigation, page), in its order. The first part has no name."""
    nav = tomllib.loads(CONFIGURATION.read_text(encoding="utf-8"))["project"]["nav"]
    yield from _entries("", nav)


def _entries(part: str, nav: list[dict[str, Any]]) -> Iterator[tuple[str, str, Path]]:
    for title, below in (pair for entry in nav for pair in entry.items()):
        if isinstance(below, str):
            yield part, title, ROOT / below
        else:
            yield from _entries(title, below)


def build(folder: Path) -> Path:
    """Builds into `folder`/site, anew, and returns that. Raises Broken."""
    site = folder / "site"
    for old in (site, folder / "pages"):
        shutil.rmtree(old, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    for path in sources():
        _copy(path, folder / "pages")
    shutil.copy(CONFIGURATION, folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = _COLOUR.sub("", done.stdout + done.stderr.split("Traceback")[0])
    if done.returncode or "No issues found" not in said:
        raise Broken(f"The site was not built.\n{said}\nCorrect the places above, then run `make docs` again.")
    _check_navigation()
    for page in pages():
        _copy(page, site)
    check_links(site)
    (site / "llms.txt").write_text(llms(), encoding="utf-8")
    return site


def _copy(path: Path, to: Path) -> None:
    goal = to / path.relative_to(ROOT)
    goal.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".md":
        goal.write_text(text_of(path), encoding="utf-8")
    else:
        shutil.copyfile(path, goal)


def _check_navigation() -> None:
    listed = [page for _part, _title, page in navigation()]
    lost = sorted(str(page.relative_to(ROOT)) for page in set(pages()) ^ set(listed))
    if lost or len(listed) != len(set(listed)):
        raise Broken(
            f"The navigation does not fit: {', '.join(lost) or 'a page is listed twice'}.\n"
            "Expected each page once in `nav` of docs/zensical.toml.\nAdd or remove it there."
        )


def llms() -> str:
    """The site for programs that read Markdown: one line a page, as https://llmstxt.org describes it."""
    home = (ROOT / "README.md").read_text(encoding="utf-8")
    summary = " ".join(line for line in home.split("\n![")[0].split("\n")[2:] if line).replace("**", "")
    lines, last = ["# Waterline", "", f"> {summary}"], None
    for part, _title, page in navigation():
        if part != last:
            lines += ["", f"## {part}" if part else "## Start here", ""]
            last = part
        lines.append(f"- [{_title_of(page)}]({page.relative_to(ROOT)}): {about(page)}")
    return "\n".join(lines) + "\n"


def _title_of(page: Path) -> str:
    return _parts(page)[0]


def _parts(page: Path) -> tuple[str, str]:
    found = _TITLE.search(text_of(page))
    assert found is not None, f"{page} has no title"
    return found[1], found.string[found.end() :]


def about(page: Path) -> str:
    """The first sentence below the title, without its links."""
    body = _parts(page)[1]
    paragraph = next((each for each in re.split(r"\n\s*\n", body) if _SENTENCE.match(each)), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split())).replace("**", "")
    return re.split(r"(?<=[.?!:]) ", plain)[0]


class _Links(HTMLParser):
    """What a page links to and shows, and the places in it that a link can name."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        """What a browser fetches by itself."""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See html.parser."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)
                if (tag in ("script", "img", "link", "video", "source") and name == "src") or tag == "link":
                    self.loaded.append(value)


def check_links(site: Path) -> None:
    """Zensical looks at links between pages; here are those to files and pictures, and what comes from elsewhere."""
    read = {page: _Links(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}
    problems = []
    for page, links in read.items():
        if page.name == "404.html":
            continue
        here = page.relative_to(site)
        problems += [f"{here}: loads {each} from elsewhere" for each in links.loaded if _is_outside(each)]
        for target in filter(lambda each: not _is_outside(each), links.targets):
            way, _, anchor = target.partition("#")
            goal = page if not way else (page.parent / unquote(way)).resolve()
            goal = goal / "index.html" if goal.is_dir() else goal
            if not goal.is_file():
                problems.append(f"{here}: {target} leads to no file")
            elif anchor and goal in read and unquote(anchor) not in read[goal].anchors and anchor != "__toc":
                problems.append(f"{here}: {target} leads to no place on that page")
    if problems:
        raise Broken("The site has broken links.\n" + "\n".join(problems) + "\nCorrect them in the pages.")


def is_there(site: Path, target: str) -> bool:
    """Whether the site has this place: `docs/alerts.html#tablenottrusted`."""
    way, _, anchor = target.partition("#")
    return (site / way).is_file() and anchor in _Links((site / way).read_text(encoding="utf-8")).anchors


def _is_outside(target: str) -> bool:
    return bool(re.match(r"[a-z]+:|//", target))
