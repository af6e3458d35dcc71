"""What a receiver quotes of the address that it was called by is hidden, in whichever form it quotes it; pure."""

import html
import json
import re
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from bot.domain.contract import HIDDEN
from bot.domain.notice import hook_host

_SHORTEST = 8
"""Characters of what is hidden by itself. Shorter parts stand in too many words; they are hidden within the whole."""
_RUN: Final = re.compile(rf"[A-Za-z0-9_-]{{{_SHORTEST},}}")
"""What every way of escaping leaves as it is."""
_ESCAPE: Final = re.compile("%[0-9A-Fa-f]{2}")


def hiding(url: str) -> Callable[[str], str]:
    """Hides path and query in a text: the whole, and each segment and value of at least 8 characters alone. For the
    uncut text: a part of a secret is not known any more."""
    forms = sorted({form for part in _parts(url) for form in _forms(part)}, key=len, reverse=True)

    def hidden(told: str) -> str:
        for form in forms:
            told = told.replace(form, HIDDEN)
        return told

    return hidden


def _parts(url: str) -> Iterator[str]:
    path, _, query = url.removeprefix(hook_host(url)).partition("#")[0].partition("?")
    yield from (each for each in (path.rstrip("/"), query and f"?{query}", query if "=" in query else "") if each)
    values = [each.partition("=")[2] or each for each in re.split("[&;]", query)]
    named = [*path.split("/"), *values]
    runs = [run for each in named for run in _RUN.findall(unquote(each))]
    yield from (each for each in (path.strip("/"), query, *named, *runs) if len(each) >= _SHORTEST)


def _forms(part: str) -> set[str]:
    """As it stands in the settings, decoded and encoded anew; and each as JSON and HTML have it."""
    decoded = unquote(part)
    plain = {part, decoded, unquote_plus(part), quote(decoded), quote_plus(decoded)}
    plain |= {quote(each, safe="") for each in (decoded, part)}
    plain |= {_ESCAPE.sub(lambda found: found[0].lower(), each) for each in plain}  # %3d, as some write it
    in_json = {json.dumps(each)[1:-1] for each in plain}
    in_json |= {each.replace("/", "\\/") for each in in_json} | {each.replace("&", "\\u0026") for each in in_json}
    forms = plain | in_json | {html.escape(each) for each in plain}
    return {each for each in forms if len(each) >= min(len(part), _SHORTEST)}
