"""The reference of all notices: each rendered once, and every fact that a template may use. `docs/notices.md` ends with
it, so that it cannot lag behind the templates."""

from collections.abc import Mapping

from bot.notices.examples import example
from bot.notices.forms import as_markdown
from bot.notices.lint import facts_documented
from bot.notices.template import NoticeTemplate, render

BEGIN = "<!-- Generated from the templates by `make reference`. Do not edit below. -->"


def reference(templates: Mapping[str, NoticeTemplate]) -> str:
    """Markdown: the kinds with one example each, then the facts."""
    lines = [BEGIN, "", "## Each notice, rendered", ""]
    for kind, template in templates.items():
        answers = ", ".join(f"`{answer}`" for answer in template.answers)
        words = " The responder adds words." if template.needs_words else ""
        lines += [
            f"### `{kind}`: {template.title}",
            "",
            f"Sent {template.when}. Can be answered: {answers}.{words}",
            "",
        ]
        told = as_markdown(render(template, example(kind))).rstrip()
        lines += [f"> {line}".rstrip() for line in told.split("\n")]
        lines.append("")
    lines += ["## Facts", "", "The variables of a template. `None` means not known.", ""]
    lines += ["`[]` means each item of a list. If a fact has several shapes, the table names the one that has it.", ""]
    lines += ["| fact | what it is |", "|---|---|"]
    for fact in facts_documented():
        told = fact.description.replace("|", "\\|")
        lines.append(f"| `{fact.path}` | {f'`{fact.kind}`: ' if fact.kind else ''}{told} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    from pathlib import Path

    from bot.notices.template import scan

    _page = Path("docs/notices.md")
    _written = _page.read_text(encoding="utf-8").split(BEGIN)[0]
    _page.write_text(_written + reference(scan(Path("messages"))), encoding="utf-8")
