"""The exported record in each format, and a reader of HTML that minds each closing tag."""

from html.parser import HTMLParser

from bot.service.record import Records
from tests.decisions import ANA, BEN
from tests.incidents import Story

FORMATS = ("markdown", "html")
NAMES: dict[str, str] = {ANA: "Ana", BEN: "Ben"}
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Nesting(HTMLParser):
    """Raises when an element is closed that is not the innermost open one."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def written(records: Records, story: Story, form: str) -> str:
    write = {"markdown": records.markdown, "html": records.html}[form]
    return write(story.incident, names=NAMES)
