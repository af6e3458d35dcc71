"""Text for Slack: everything is escaped; only mentions of people, groups and channels are let through."""

import re

_MENTION = re.compile(r"&lt;(@[UW][A-Z0-9]{2,}|!subteam\^S[A-Z0-9]{2,}|#C[A-Z0-9]{2,})&gt;")


def mrkdwn(value: str) -> str:
    """Safe mrkdwn: `&`, `<`, `>` escaped. `<!channel>` and links stay inert; `<@U…>` still mentions."""
    escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MENTION.sub(r"<\1>", escaped)


def code(value: str) -> str:
    """One value in code style; back-ticks inside become apostrophes, which cannot end it."""
    return f"`{mrkdwn(value.replace('`', chr(39)))}`"


def clipped(value: str, most: int) -> str:
    """At most `most` characters; a cut text ends in an ellipsis."""
    return value if len(value) <= most else value[: most - 1].rstrip() + "…"


def from_markdown(prose: str) -> str:
    """A runbook's prose as mrkdwn: bold and emphasis are turned, the rest is escaped."""
    text = mrkdwn(prose)
    text = re.sub(r"(?<!\*)\*(?!\*)([^*\n]+)\*(?!\*)", r"_\1_", text)
    text = re.sub(r"\*\*([^*\n]+)\*\*", r"*\1*", text)
    return re.sub(r"^[-*] ", "• ", text, flags=re.MULTILINE)
