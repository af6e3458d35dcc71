"""The pages that are generated for the site: every command, every address, every number.

`python -m tests.docs.reference` writes them; `make reference` runs it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bot.cli.on_demand import LATE
from bot.web.alerts import SHAPES
from bot.web.probes import NUMBERS
from bot.web.trust_api import openapi_json

_DOCS = Path(__file__).parents[2] / "docs"
_GENERATED = "<!-- Generated from the code. Do not edit: run `make reference`. -->"


def commands() -> str:
    """`docs/cli.md`: what `--help` says, of each command and each below it."""
    lines = ["# Commands", "", _GENERATED, "", "Every command of `waterline`, with its arguments and options."]
    lines += ["`waterline COMMAND --help` says the same in a terminal. Options in brackets may be left out."]
    for name, late in LATE.items():
        lines += _command(late.imported(name), f"waterline {name}", 2)
    return "\n".join(lines) + "\n"


def _command(command: Any, name: str, depth: int) -> Iterator[str]:
    yield from ("", f"{'#' * depth} {name}", "")
    yield from _paragraph(command.help or "")
    below = getattr(command, "commands", {})
    shown = [each for each in command.params if not getattr(each, "hidden", False) and each.name != "help"]
    shown = [each for each in shown if not each.name.endswith("_completion")]
    if not below or shown:
        yield from ("", "```text", _usage(name, shown), "```")
    if shown:
        yield from ("", "| | meaning | default |", "|---|---|---|")
        yield from (
            f"| {_shown(each)} | {_cell(each.help or '')}{_variable(each)} | {_default(each)} |" for each in shown
        )
    for inner, its in below.items():
        yield from _command(its, f"{name} {inner}", depth + 1)


def _paragraph(text: str) -> Iterator[str]:
    yield from (line.strip() for line in text.strip().splitlines())


def _usage(name: str, shown: list[Any]) -> str:
    arguments = [_metavar(each) for each in shown if _is_argument(each)]
    needed = [f"{each.opts[0]} {_metavar(each)}" for each in shown if not _is_argument(each) and each.required]
    optional = ["[OPTIONS]"] if any(not _is_argument(each) and not each.required for each in shown) else []
    return " ".join([name, *arguments, *needed, *optional])


def _is_argument(each: Any) -> bool:
    return bool(each.param_type_name == "argument")


def _metavar(each: Any) -> str:
    name = (each.metavar or each.name).strip("[]").upper()
    more = "…" if each.nargs != 1 else ""
    return f"{name}{more}" if each.required else f"[{name}{more}]" if _is_argument(each) else name


def _shown(each: Any) -> str:
    if _is_argument(each):
        return f"`{_metavar(each)}`"
    words = " or ".join(f"`{word}`" for word in [*each.opts, *each.secondary_opts])
    return words if getattr(each, "is_flag", False) else f"{words} `{(each.metavar or each.name).upper()}`"


def _variable(each: Any) -> str:
    return f" Also from `{each.envvar}`." if getattr(each, "envvar", None) else ""


def _default(each: Any) -> str:
    if each.required:
        return "required"
    if isinstance(each.show_default, str):
        return each.show_default
    return "" if each.default in (None, False, (), []) or callable(each.default) else f"`{each.default}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def addresses() -> str:
    """`docs/api.md`: the addresses and fields of the OpenAPI description, then the numbers for Prometheus."""
    document = json.loads(openapi_json(SHAPES))
    lines = ["# API and metrics", "", _GENERATED, "", "Every address that programs ask, and every number."]
    lines += ["[Trust](trust.md) says what the answers mean. `GET /v1/openapi.json` has the same as OpenAPI 3.1."]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            lines += ["", f"## {method.upper()} {path}", "", operation.get("summary", "")]
            lines += ["", *_parameters(operation.get("parameters", ()))]
            lines += [f"- {code}: {_cell(each['description'])}" for code, each in operation["responses"].items()]
    lines += ["", "## Models"]
    for name, schema in document["components"]["schemas"].items():
        lines += _model(name, schema, document["components"]["schemas"])
    lines += [
        "",
        "## Metrics",
        "",
        "`GET /metrics` has these numbers for Prometheus: gauges, unless they say otherwise.",
        "",
    ]
    lines += ["| name | labels | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | {', '.join(each.labels)} | {_cell(each.meaning)} |" for name, each in NUMBERS.items()]
    return "\n".join(lines) + "\n"


def _parameters(told: Any) -> Iterator[str]:
    named = (each for each in told if "description" in each)
    yield from (f"- `{each['name']}` ({each['in']}): {_cell(each['description'])}" for each in named)


def _model(name: str, schema: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    if "properties" not in schema:
        return
    yield from ("", f"### {name}", "", *_paragraph(schema.get("description", "")), "")
    yield from ("| field | type | meaning |", "|---|---|---|")
    for field, its in schema["properties"].items():
        yield f"| `{field}` | {_type(its, schemas)} | {_cell(its.get('description', ''))} |"


def _type(its: dict[str, Any], schemas: dict[str, Any]) -> str:
    if "$ref" in its:
        name = its["$ref"].rsplit("/", 1)[1]
        return _type(schemas[name], schemas) if "enum" in schemas[name] else f"[{name}](#{name.lower()})"
    if "anyOf" in its:
        return " or ".join(_type(each, schemas) for each in its["anyOf"])
    if "enum" in its:
        return ", ".join(f"`{value}`" for value in its["enum"])
    if its.get("type") == "array":
        return f"list of {_type(its.get('items', {}), schemas)}"
    return str(its.get("format") or its.get("type") or "any")


def main() -> None:
    """Writes both pages."""
    (_DOCS / "cli.md").write_text(commands(), encoding="utf-8")
    (_DOCS / "api.md").write_text(addresses(), encoding="utf-8")


if __name__ == "__main__":
    main()
