"""A receiver may quote the address that it was called by in any form: neither record nor message quotes it."""

import html
import json

import pytest

from bot.adapters.webhook_quotes import hiding
from bot.domain.contract import HIDDEN
from tests.telling.conftest import Scene
from tests.telling.test_webhooks_kept_quiet import consumer, told

PATH = "services/T0/B0/s3cr3tTOKENvalue?key=abcDEF%3D123456&n=1"
URL = f"https://hooks.acme.example/{PATH}"
SECRETS = ("s3cr3tTOKENvalue", "abcDEF", "123456")


@pytest.mark.parametrize(
    "quoted",
    [
        f"no such hook /{PATH}",
        json.dumps({"error": f"no such hook /{PATH}"}).replace("/", "\\/"),
        json.dumps({"error": f"no such hook {URL}"}).replace("&", "\\u0026"),
        html.escape(f"<pre>Cannot POST /{PATH}</pre>"),
        "Cannot POST /T0/B0/s3cr3tTOKENvalue/",
        "unknown token s3cr3tTOKENvalue",
        "key abcDEF=123456 is revoked",
        "key abcDEF%3d123456 is revoked",
        "/login?next=%2Fservices%2FT0%2FB0%2Fs3cr3tTOKENvalue%3Fkey%3DabcDEF%253D123456",
    ],
    ids=["as it is", "JSON", "JSON of Go", "HTML", "below a mount", "a segment", "decoded", "lower case", "encoded"],
)
def test_no_form_of_a_secret_is_left(quoted: str) -> None:
    """Whole, in part, escaped, decoded, encoded anew."""
    shown = hiding(URL)(quoted)

    assert HIDDEN in shown
    assert [] == [each for each in SECRETS if each in shown]


@pytest.mark.parametrize(
    ("url", "quoted"),
    [
        ("https://h.example/bot123456:AAEx-TokenOf8", "bad token AAEx-TokenOf8"),
        ("https://h.example/x?AAExTokenOf8", "bad token AAExTokenOf8"),
        ("https://h.example/a%20b%2FAAEx", "Cannot POST /a b/AAEx"),
        ("https://h.example/x?t=a+b/AAExToken", "t was a b/AAExToken"),
        ("https://h.example/x?t=A1", "no t=A1 here"),
    ],
    ids=["behind a colon", "a query without a name", "an encoded slash", "an encoded space", "a short value"],
)
def test_other_addresses_are_hidden_as_well(url: str, quoted: str) -> None:
    """Each receiver puts its secret where it likes."""
    shown = hiding(url)(quoted)

    assert [] == [each for each in ("AAEx", "A1") if each in shown]


def test_what_is_no_quote_stays() -> None:
    """A call for help is read by people; short words of the path are hidden within the whole alone."""
    words = "B0 and T0 lag, n=1: call Ben. Services down. See https://hooks.acme.example"

    assert words == hiding(URL)(words)
    assert words == hiding("https://hooks.acme.example")(words) == hiding("https://hooks.acme.example/")(words)


@pytest.mark.parametrize("word", ["needs-help", "what"], ids=["an answer", "no answer"])
@pytest.mark.parametrize("before", [170, 976])
def test_no_part_of_a_secret_is_left_where_the_text_is_cut(scene: Scene, word: str, before: int) -> None:
    """It is hidden first: half of it would not be known any more."""
    scene.hook.answers = [(200, {"answer": word, "text": f"{'x' * before} s3cr3tTOKENvalue {'y' * 1000}"})]

    shown = told(scene, consumer(scene, PATH), path=PATH)

    assert "x" * 170 in shown
    assert "s3c" not in shown


def test_a_word_that_is_no_answer_is_not_quoted_with_the_secret(scene: Scene) -> None:
    """It stands in the record, for whoever asks the receiver."""
    scene.hook.answers = [(200, {"answer": "no such hook s3cr3tTOKENvalue"})]

    shown = told(scene, consumer(scene, PATH), path=PATH)

    assert f"no such hook {HIDDEN}" in shown
    assert "s3cr3tTOKENvalue" not in shown
