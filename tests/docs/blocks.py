"""The examples of the pages: every fenced block, with its language and its place."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from tests.docs.site import ROOT, pages
from tests.words.sources import flat

GENERATED = {"api.md", "catalogue.md", "cli.md", "matrix.md", "settings.md"}
OF_THEIR_OWN = {"CONTRIBUTING.md"}
"""Pages whose examples `test_examples.py` loads."""


@dataclass(frozen=True)
class Block:
    place: str
    """`docs/kafka.md:9`."""
    language: str
    text: str

    @property
    def page(self) -> str:
        return self.place.partition(":")[0]


def blocks(language: str, *, under: str = "") -> list[Block]:
    """Those of written pages, in the order of the pages."""
    return [each for each in _all() if each.language == language and each.page.startswith(under)]


def _all() -> Iterator[Block]:
    for page in pages():
        if page.name in GENERATED | OF_THEIR_OWN:
            continue
        for token in MarkdownIt().parse(page.read_text(encoding="utf-8").partition("<!-- Generated")[0]):
            if token.type == "fence" and token.map is not None:
                yield Block(f"{page.relative_to(ROOT)}:{token.map[0] + 1}", token.info.strip(), token.content)


def commands(block: Block) -> list[str]:
    """The lines of a `console` block, each one command; a backslash joins two."""
    joined = block.text.replace("\\\n", " ").splitlines()
    return [line.partition("   #")[0].strip() for line in joined if line.strip()]


def mentions(program: str) -> dict[str, str]:
    """What follows `program` within the sentences of all pages, without brackets -> where it stands first."""
    found: dict[str, str] = {}
    for page in pages():
        for words in re.findall(rf"`{re.escape(program)} ([a-z][^`\n]*)`", page.read_text(encoding="utf-8")):
            found.setdefault(re.sub(r"[][]", "", words), str(page.relative_to(ROOT)))
    return found


def messages() -> Iterator[str]:
    """Every sentence in the code, with … for each value."""
    for folder in ("bot", "spark_tasks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield from (flat(node, "…") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def quoted(page: Path) -> list[str]:
    """The messages that a page of troubleshooting explains."""
    return re.findall(r"^> `+(.+?)`+$", page.read_text(encoding="utf-8"), re.MULTILINE)
