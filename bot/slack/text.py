"""Text for Slack: everything is escaped; only mentions of people, groups and channels are let through."""

import re

_LONG_PATH = re.compile(r"https?://\S+|(?<![\w/])(?:[a-z][a-z0-9+.-]*:/{0,3})?/?(?:[\w.=@-]+/){2,}(?=[\w.-])")
_MENTION = re.compile(r"&lt;(@[UW][A-Z0-9]{2,}|!subteam\^S[A-Z0-9]{2,}|#C[A-Z0-9]{2,})&gt;")


def mrkdwn(value: str) -> str:
    """Safe mrkdwn: `&`, `<`, `>` escaped. `<!channel>` and links stay inert; `<@U…>` still mentions."""
    escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MENTION.sub(r"<\1>", escaped)


def code(value: str) -> str:
    """One value in code style; back-ticks inside become apostrophes, which cannot end it."""
    return f"`{mrkdwn(value.replace('`', chr(39)))}`"


def short_paths(text: str) -> str:
    """Long paths and addresses by their last part, `…/savepoint-e62766-0e10`: it tells them apart, and fits a phone.

    The record keeps them whole.
    """
    return _LONG_PATH.sub(lambda found: found[0] if found[0].startswith("http") else "…/", text)


def as_sentence(text: str) -> str:
    """With a capital and a full stop, if it has none; a name in code style or a mention stays as it is."""
    text = text.strip()
    if not text:
        return text
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…", ":")) else ".")


def clipped(value: str, most: int) -> str:
    """At most `most` characters; a cut text ends in an ellipsis."""
    return value if len(value) <= most else value[: most - 1].rstrip() + "…"


def from_markdown(prose: str) -> str:
    """A runbook's prose as mrkdwn: bold and emphasis are turned, the rest is escaped."""
    text = mrkdwn(prose)
    text = re.sub(r"(?<!\*)\*(?!\*)([^*\n]+)\*(?!\*)", r"_\1_", text)
    text = re.sub(r"\*\*([^*\n]+)\*\*", r"*\1*", text)
    return re.sub(r"^[-*] ", "• ", text, flags=re.MULTILINE)
