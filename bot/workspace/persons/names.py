"""Turns the names that people type into Slack's own marks, and shields the three characters that Slack escapes."""

import re

from bot.workspace.directory import Directory

_NAME = re.compile(r"(?<![\w/])([@#])([\w][\w.-]*)")
_BROADCASTS = ("here", "channel", "everyone")


def with_marks(text: str, directory: Directory, *, labelled: bool) -> str:
    """The text with `@ana`, `@orders-approvers` and `#general` as marks; `labelled` adds names as slash commands do."""

    def mark(found: re.Match[str]) -> str:
        sign, name = found.groups()
        if sign == "#":
            channel = next((c for c in directory.channels.values() if c.name == name and not c.is_im), None)
            return _mark(f"#{channel.id}", name, labelled) if channel else found.group()
        if name in _BROADCASTS:
            return f"<!{name}>"
        if group := directory.group_named(name):
            return _mark(f"!subteam^{group.id}", f"@{name}", labelled)
        if name == directory.app.name:
            return _mark(f"@{directory.app.user_id}", name, labelled)
        person = next((p for p in directory.people.values() if p.name == name.lower()), None)
        return _mark(f"@{person.id}", person.name, labelled) if person else found.group()

    return _NAME.sub(mark, text)


def escaped(text: str) -> str:
    """The text with `&`, `<` and `>` as Slack stores what people type."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _mark(target: str, label: str, labelled: bool) -> str:
    return f"<{target}|{label}>" if labelled else f"<{target}>"
