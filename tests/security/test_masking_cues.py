"""The quick look before each search for secrets overlooks none."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bot.domain.masking import _SHAPES, Masking

PIECES = [
    *("xoxb-", "xoxe.xoxp-", "xapp-", "AKIA", "ASIA", "ABCDEFGH12345678", "eyJ", "abcdefghi.", "ghp_", "ghs_"),
    *(
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "://",
        "user",
        ":",
        "pw",
        "@",
        "Bearer ",
        "basic\t",
        "Authorization: ",
        "dXNlcjpwYXNz",
    ),
    *(
        "PassWord",
        "passwd",
        "Secret_Key",
        "secretAccessKey",
        "client.secret",
        "access-token",
        "Session_Token",
        "API_key",
    ),
    *(
        "sig",
        "X-Amz-Signature",
        "X-Goog-Credential",
        "?Signature",
        "'",
        '"',
        "=",
        ": ",
        " ",
        "\n",
        "{",
        "&",
        "abcdefghij0123456789ab",
        "ſ",
        "ı",
        "é",
    ),
]


@given(pieces=some.lists(some.sampled_from(PIECES), max_size=9))
def test_what_has_the_shape_of_a_secret_is_masked_as_without_the_quick_look(pieces: list[str]) -> None:
    """Its cue is there wherever the pattern is in either case of letters; other alphabets are not trusted to it."""
    text = "".join(pieces)

    masked = Masking().text(text)

    searched = text
    for shape in _SHAPES:
        searched = shape.pattern.sub(shape.instead, searched)
    assert masked == searched


@pytest.mark.parametrize("letter", ["ſ", "é"])
def test_letters_that_count_as_ours_hide_no_secret(letter: str) -> None:
    """The long s is an s to a search that looks past case, and not to `lower`."""
    masked = Masking().text(f"{letter}ig paſſword=hunter22")

    assert "hunter22" not in masked
