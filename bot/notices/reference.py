"""The reference of all notices: each rendered once, and every fact that a template may use. `docs/notices.md` ends with
it, so that it cannot lag behind the templates."""

from collections.abc import Mapping
from datetime import timedelta

from bot.notices.extent import KeysChanged
from bot.notices.facts import NoticeFacts, Stage
from bot.notices.forms import as_markdown
from bot.notices.lint import facts_documented
from bot.notices.reading import ReadThrough
from bot.notices.samples import BROKEN, NOON, ids, rerun_for, row, samples
from bot.notices.template import NoticeTemplate, render

_EXAMPLES: dict[str, tuple[str, str, str, Stage]] = {
    "warning": ("read above", "trusted by tag", "under review", "diagnosed"),
    "update": ("read through others", "trusted by tag", "under review", "executing"),
    "recovered": ("read above", "trusted by tag", "taken back", "proven"),
    "correction": ("unknown readers", "trusted by tag", "under review", "diagnosed"),
    "no_action": ("not observed", "trusted by tag", "nothing affected", "proven"),
    "review": ("not observed", "trusted by tag", "nothing affected", "proven"),
}


_WORDS = {
    "correction": "Only the rows of checkpoints 7 to 9 are concerned, not those of the whole morning.",
    "planned_work": "Today from 14:00 to about 14:10 UTC the job is stopped and started with new code.",
}


_KEYS_OF_ONE_COLUMN = KeysChanged(
    columns=("order_id",), repeated=200, changed=None, gone=None, differing=(), sample=("4711", "4712", "4713"),
    is_hidden=False,
)  # fmt: skip
_FEW = {
    "snapshots": ids(1, 2, 3), "ranges": (row(1, 3),), "last_at": NOON + timedelta(minutes=3), "rows": 300,
    "event_from": NOON - timedelta(minutes=2), "event_until": NOON + timedelta(minutes=3), "events_untold": 0,
    "partitions": ("day(event_time) 2026-11-03",), "partitions_untold": (),
}  # fmt: skip


def example(kind: str) -> NoticeFacts:
    """One telling sample for this kind of notice, its lists short."""
    reading, trusted, affected, stage = _EXAMPLES.get(
        kind, ("not observed", "trusted by tag", "under review", "diagnosed")
    )
    facts = dict(samples())[f"{reading}, {trusted}, {affected}, {stage}"]
    seen = facts.reading
    if isinstance(seen, ReadThrough):
        seen = seen.model_copy(update={"runs": seen.runs[:2]})
    few = facts.affected
    if few is not None:
        few = few.model_copy(update=_FEW)
    return facts.model_copy(
        update={
            "summary": "Revenue is too high since 09:00.",
            "team": "Orders: Dana Weiss (Owner), Ben Okafor",
            "words": _WORDS.get(kind, ""),
            "unheard": (),
            "severity_before": "sev3" if kind == "update" else None,
            "reading": seen,
            "affected": few,
            "damage": facts.damage.model_copy(update={"keys": _KEYS_OF_ONE_COLUMN})
            if facts.damage.keys
            else facts.damage,
            "rerun": rerun_for(seen, few, facts.stage),
            "review": facts.review.model_copy(update={"broken": BROKEN[:2]}) if facts.review else None,
        }
    )


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
