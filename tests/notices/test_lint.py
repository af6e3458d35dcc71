"""Lint of messages: what is wrong, in which file, on which line."""

from pathlib import Path

import pytest

from bot.domain.errors import BadConfiguration
from bot.notices import render, scan
from bot.notices.lint import lint
from bot.notices.samples import samples

HEAD = "---\ntitle: Test\nwhen: never\naudience: consumers\n---\n"


def _folder(tmp_path: Path, text: str, name: str = "hello.md.j2") -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_good_message_has_no_problem(tmp_path: Path) -> None:
    """The smallest notice is front matter and a sentence."""
    assert lint(_folder(tmp_path, HEAD + "Hello {{ consumer }}.\n")) == ()


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ("Hello\n{{ nobody }}\n", 7, "There is no fact nobody"),
        ("Hello\n\n{% if stage == 'no such' %}\n{{ hidden }}\n{% endif %}\n", 9, "There is no fact hidden"),
        ("Hello\n{{ trusted.nothing }}\n", 7, "There is no fact trusted.nothing"),
        ("Hello\n{% for r in reading.runs[:3] %}\n{{ r.gone }}\n{% endfor %}\n", 8, "reading.runs[].gone"),
        ("Hello\n{% if stage == 'none' %}{{ affected.ranges[0].lost }}{% endif %}\n", 7, "affected.ranges[].lost"),
        ("Hello\n{% if %}\n", 7, "This is not a template"),
        ("{{ table | upside_down }}\n", 6, "No filter named 'upside_down'"),
        ('Hello\n{% include "_gone.md.j2" %}\n', 7, "_gone.md.j2"),
        ("{{ table.__class__ }}\n", 6, "unsafe"),
        ("{% if affected %}Hello{% endif %}\n", 1, "nothing is said"),
        ("{{ 'word ' * 700 }}\n", 1, "a paragraph of"),
        ("{{ ('word ' * 400 + '\n\n') * 5 }}\n", 1, "at most 8000 fit"),
    ],
)
def test_a_problem_names_file_and_line(tmp_path: Path, body: str, line: int, said: str) -> None:
    """Also in a branch that no sample enters, and counted with the front matter."""
    [problem] = lint(_folder(tmp_path, HEAD + body))

    assert (problem.file, problem.line) == ("hello.md.j2", line)
    assert said in problem.message
    assert str(problem).startswith(f"hello.md.j2:{line}: ")


def test_a_problem_in_a_part_names_the_part(tmp_path: Path) -> None:
    """The line that must be mended is in the included file."""
    _folder(tmp_path, "one\n{{ trusted.nothing }}\n", "_part.md.j2")

    [problem] = lint(_folder(tmp_path, HEAD + '{% include "_part.md.j2" %}\n'))

    assert (problem.file, problem.line) == ("_part.md.j2", 2)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("Hello\n", 1, "title"),
        ("---\ntitle: Test\nwhen: never\naudience: everyone\n---\nHello\n", 1, "audience"),
        ("---\ntitle: Test\nwhen: [never\naudience: consumers\n---\nHello\n", 4, "front matter"),
        ("---\ntitle: Test\nwhen: never\naudience: consumers\nwho: me\n---\nHello\n", 1, "who"),
    ],
)
def test_front_matter_must_be_complete(tmp_path: Path, text: str, line: int, said: str) -> None:
    """Title, when and audience, and nothing that means nothing; the start is refused as lint refuses."""
    folder = _folder(tmp_path, text)

    [problem] = lint(folder)

    assert (problem.file, problem.line) == ("hello.md.j2", line)
    assert said in problem.message
    with pytest.raises(BadConfiguration, match=f"hello.md.j2:{line}"):
        scan(folder)


def test_a_folder_without_notices_is_a_problem(tmp_path: Path) -> None:
    """An empty or wrong folder is not a clean one."""
    assert "No notice found" in lint(tmp_path)[0].message


def test_rendering_a_broken_message_says_what_to_do(tmp_path: Path) -> None:
    """What lint would have found is an answer, not a trace."""
    template = scan(_folder(tmp_path, HEAD + "{{ nobody }}\n"))["hello"]

    with pytest.raises(BadConfiguration, match="waterline lint"):
        render(template, next(facts for _, facts in samples()))
