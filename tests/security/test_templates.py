"""Templates fill in facts and can do nothing else, whoever wrote them and whatever the facts are."""

from pathlib import Path

import pytest

from bot.domain.errors import BadConfiguration
from bot.notices import render, scan
from bot.notices.samples import samples

HEAD = "---\ntitle: T\nwhen: now\naudience: consumers\n---\n"
FACTS = dict(samples())
ONE = next(iter(FACTS.values()))

ATTACKS = (
    "{{ table.__class__.__mro__ }}",
    "{{ ''.__class__.__base__.__subclasses__() }}",
    "{{ table.format.__globals__ }}",
    "{{ '{0.__class__.__init__.__globals__}'.format(table) }}",
    "{{ moment.__globals__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ lipsum.__globals__['os'].environ }}",
    "{{ (table|attr('__class__')) }}",
    "{% set x = namespace() %}{{ x.__class__.__init__.__globals__ }}",
    "{% for c in [].__class__.__base__.__subclasses__() %}{{ c }}{% endfor %}",
    "{{ request.application.__globals__ }}",
    "{{ config.items() }}",
    "{% include '/etc/passwd' %}",
    "{% include '../pyproject.toml' %}",
    "{% import 'os' as os %}{{ os.environ }}",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_template_reaches_nothing_but_its_facts(tmp_path: Path, attack: str) -> None:
    """Neither Python's insides, nor files, nor the environment: it is refused, or renders to nothing of them."""
    (tmp_path / "attack.md.j2").write_text(f"{HEAD}Said: {attack}\n")

    try:
        text = render(scan(tmp_path)["attack"], ONE)
    except BadConfiguration as refused:
        text = refused.happened

    assert not any(
        found in text for found in ("<class", "&lt;class", "root:", "PATH", "[project]", "environ(", "module")
    )


def test_facts_are_never_read_as_a_template(tmp_path: Path) -> None:
    """What looks like a template within a fact is shown as it stands."""
    (tmp_path / "plain.md.j2").write_text(f"{HEAD}{{{{ consumer }}}}\n")
    template = scan(tmp_path)["plain"]

    text = render(template, ONE.model_copy(update={"consumer": "{{ 7*7 }}{% include 'x' %}"}))

    assert text == "{{ 7∗7 }}{% include 'x' %}"


@pytest.mark.parametrize("attack", ["{{ reading.runs.append(1) }}", "{{ affected.snapshots.clear() }}"])
def test_a_template_cannot_change_a_fact(tmp_path: Path, attack: str) -> None:
    """Facts of one consumer are those of the next."""
    (tmp_path / "attack.md.j2").write_text(f"{HEAD}{attack}\n")

    with pytest.raises(BadConfiguration, match="could not be rendered"):
        render(scan(tmp_path)["attack"], ONE)
