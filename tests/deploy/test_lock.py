"""The image's packages are those that are tested, and nothing that only tests need."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

from tests.docs.blocks import blocks, commands

PROJECT = Path(__file__).parents[2]
PROGRAM = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(file: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Name -> version and hashes."""
    found = {}
    for entry in re.split(r"^(?=[a-z])", (PROJECT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, version = re.match(r"([a-z0-9.-]+)==(\S+)", entry).groups()  # type: ignore[union-attr]
        found[name] = version, frozenset(re.findall(r"sha256:([0-9a-f]{64})", entry))
    return found


def needed() -> set[str]:
    """The packages that Waterline needs when it runs and sends spans, with what these need in turn."""
    seen: set[tuple[str, frozenset[str]]] = set()
    todo = [("waterline", frozenset[str]())]
    traced = PROGRAM["optional-dependencies"]["traces"]
    while todo:
        package, wanted = todo.pop()
        if (package, wanted) in seen:
            continue
        seen.add((package, wanted))
        declared = [*PROGRAM["dependencies"], *traced] if package == "waterline" else requires(package) or ()
        for line in declared:
            each = Requirement(line)
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in (wanted or {""}) | {""}):
                todo.append((re.sub("[-_.]+", "-", each.name.lower()), frozenset(each.extras)))
    return {package for package, _ in seen} - {"waterline"}


def test_the_image_has_what_waterline_needs_in_the_versions_that_are_tested() -> None:
    """Not more, not less; `make lock` writes both files."""
    image, tested = pins("deploy/requirements.lock"), pins("requirements.lock")

    assert set(image) == needed()
    assert image == {name: tested[name] for name in image}


def test_a_host_gets_the_same_packages_as_the_image() -> None:
    """By the lines of the pages: nothing that only tests need."""
    typed = [line for block in blocks("console") for line in commands(block) if "--require-hashes" in line]

    assert len(typed) > 1
    assert [line for line in typed if not line.endswith(" -r deploy/build.lock -r deploy/requirements.lock")] == []


def test_what_builds_the_image_is_pinned_too() -> None:
    build = pins("deploy/build.lock")

    assert "hatchling" in build
    assert all(hashes for _, hashes in build.values())
