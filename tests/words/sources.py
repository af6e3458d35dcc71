"""Everything that people read, by kind: rendered where that takes no incident, else as the code writes it."""

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

import spark_tasks
from bot import actions
from bot.actions._support.completing import scan as find_actions
from bot.bootstrap import failure_modes
from bot.cli.on_demand import LATE
from bot.evidence import find_tasks
from bot.notices import scan as find_notices
from bot.notices.reference import example
from bot.notices.samples import samples
from bot.notices.template import render
from bot.observation import errors
from bot.settings import Settings
from bot.settings.reading import settings_of
from bot.web.alerts import SHAPES
from bot.web.trust_api import openapi_json
from tests.runbook.shipped import shipped
from tests.words.measure import Text, joined

ROOT = Path(__file__).parents[2]
_CODE = {  # kind -> folders and files: sentences in strings; errors, settings and help are kinds of their own
    "Slack": ("bot/slack",),
    "services": ("bot/service", "bot/bootstrap"),
    "incident": ("bot/incident", "bot/runbook"),
    "actions": ("bot/actions",),
    "notices, their parts": ("bot/notices",),
    "web": ("bot/web",),
    "terminal": ("bot/cli",),
    "adapters": ("bot/adapters", "bot/evidence", "bot/ports", "bot/settings", "bot/pinned_jars.py"),
    "diagnosis": ("bot/diagnosis", "bot/history", "bot/observation"),
    "evidence": ("spark_tasks",),
    "demo": ("bot/lab", "bot/workspace", "bot/tour"),
}
_ERRORS = {
    *(name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, errors.WaterlineError)),
    "LabError",
    "MachineError",
}
_NOT_READ = {"Option", "Argument", "Late", "Field", "compile", "debug", "info", "warning", "exception", "getLogger"}
"""Calls whose strings are measured elsewhere, are patterns, or are for the log."""
_SQL = re.compile(
    r"^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|WITH|DROP|CALL|MERGE|BEGIN|SET|PRAGMA)\b|[\\^$]\w|\{\{"
)
_JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|<(style|script).*?</\1>", re.DOTALL)


def everything() -> Mapping[str, list[Text]]:
    """Kind -> its texts."""
    kinds: dict[str, list[Text]] = {
        "README": list(_markdown("README.md")),
        "docs": [text for page in sorted((ROOT / "docs").rglob("*.md")) for text in _page(page)],
        "CONTRIBUTING": list(_markdown("CONTRIBUTING.md")),
        "CHANGELOG": list(_markdown("CHANGELOG.md")),
        "deploy": list(_deploy()),
        "runbooks": list(_runbooks()),
        "notices": list(_notices()),
        "settings": [
            *(Text(f"`{each.name}`", each.description) for each in settings_of(Settings)),
            *_described("settings' schema", Settings.model_json_schema()),
        ],
        "API": list(_described("OpenAPI", json.loads(openapi_json(tuple(SHAPES))))),
        "help": list(_help()),
        "tasks, modes, actions": list(_declared()),
    }
    strings = {path: _Strings(path) for path in _files(("bot", "spark_tasks"))}
    for kind, places in _CODE.items():
        kinds[kind] = [text for path in _files(places) for text in strings[path].texts]
    kinds["web"] += [text for path in sorted((ROOT / "bot/web/templates").glob("*.j2")) for text in _template(path)]
    kinds["web"] += [text for path in sorted((ROOT / "bot/web").glob("*.py")) for text in _docstrings_of_tools(path)]
    kinds["demo"] += [text for path in sorted((ROOT / "bot/workspace/page").glob("*.js")) for text in _script(path)]
    kinds["facts"] = [text for each in strings.values() for text in each.described]
    kinds["record"] = [text for path in sorted((ROOT / "messages/record").glob("*.j2")) for text in _template(path)]
    kinds["errors"] = [text for each in strings.values() for text in each.errors]
    return kinds


def _files(places: tuple[str, ...]) -> Iterator[Path]:
    for place in places:
        found = ROOT.glob(place) if "*" in place else [ROOT / place]
        for each in sorted(found):
            yield from sorted(each.rglob("*.py")) if each.is_dir() else [each] if each.is_file() else []


def _markdown(name: str) -> Iterator[Text]:
    """Without fences, HTML comments and drawings; a row of a table is one text, its cells end a sentence."""
    lines, fence = [], ""
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        shown = "" if fence or mark or line.startswith(("<", "|--", "|:-")) else line
        lines.append((number, re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", shown)))
    for number, text in joined(lines):
        yield Text(f"{name}:{number}", text)


def _page(page: Path) -> Iterator[Text]:
    """What is generated is measured where it is made; what the matrix quotes was said at the time of its run."""
    if page.name not in {"api.md", "catalogue.md", "cli.md", "matrix.md"}:
        yield from _markdown(str(page.relative_to(ROOT)))


def _comments(name: str) -> Iterator[Text]:
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
        comment = re.search(r"(?:^|\s)#\s+(?![\w.]+:( |$)|- |\w+\})(.*)", line)
        if comment:
            yield Text(f"{name}:{number}", comment[2])


def _runbooks() -> Iterator[Text]:
    """As an incident keeps them: steps that runbooks share are measured once."""
    seen = set()
    for name, runbook in shipped().items():
        head, *_steps = runbook.text.split("\n## Steps\n")
        texts = [(name, runbook.title), *((name, section) for section in head.split("\n## ")[1:])]
        texts += [(f"{name}, step {step.id}", f"{step.title}\n\n{step.prose}") for step in runbook.steps]
        for place, text in texts:
            lines = [(0, re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)) for line in text.splitlines()]
            for _, part in joined(lines):
                if part not in seen:
                    seen.add(part)
                    yield Text(f"runbooks: {place}", part)


def _notices() -> Iterator[Text]:
    """The example of each kind, and whatever other line a combination of facts gives."""
    for kind, template in find_notices(ROOT / "messages").items():
        yield Text(f"notice {kind}", f"{template.title}\n{template.when}")
        seen = set()
        for shape, facts in (("example", example(kind)), *samples()):
            for line in render(template, facts).splitlines():
                if line not in seen:
                    seen.add(line)
                    yield Text(f"notice {kind}: {shape}", line)


def _deploy() -> Iterator[Text]:
    yield from _markdown("deploy/README.md")
    for path in sorted((ROOT / "deploy").rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.suffix == ".yaml" or path.name.endswith("Containerfile"):
            yield from _comments(name)
        if path.suffix in {".yaml", ".json"} and "templates" not in path.parts:
            yield from _strings(name, list(yaml.safe_load_all(path.read_text(encoding="utf-8"))))
        if path.name == "NOTES.txt":
            yield from _script(path)
    for number, line in enumerate((ROOT / "Makefile").read_text(encoding="utf-8").splitlines(), 1):
        if helped := re.match(r"[a-z-]+:.*## (.*)", line):
            yield Text(f"Makefile:{number}", helped[1])


def _strings(place: str, node: Any) -> Iterator[Text]:
    """The sentences in a YAML or JSON file; a query of Prometheus is none."""
    match node:
        case dict():
            for key, value in node.items():
                if key not in {"expr", "query"}:
                    yield from _strings(place, value)
        case list():
            for value in node:
                yield from _strings(place, value)
        case str() if " " in node:
            yield Text(place, re.sub(r"\{\{.*?\}\}", "value", node))


def _described(place: str, node: Any, name: str = "") -> Iterator[Text]:
    """The descriptions and titles of a JSON schema or an OpenAPI document."""
    match node:
        case dict():
            for key, value in node.items():
                if key in {"description", "summary", "title"} and isinstance(value, str):
                    yield Text(f"{place}: {name}", value)
                else:
                    yield from _described(place, value, key)
        case list():
            for value in node:
                yield from _described(place, value, name)


def _script(path: Path) -> Iterator[Text]:
    """The strings of the page's scripts; a value within is one word. Of a plain text its lines."""
    strings = r"`[^`]*`|'[^'\n]*'|\"[^\"\n]*\"" if path.suffix == ".js" else ".+"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for found in re.findall(strings, re.sub(r"\$?\{+[^}]*\}+", "value", line)):
            if " " in found.strip() and not re.search(r"[<>=;]", found):
                yield Text(f"{path.relative_to(ROOT)}:{number}", found.strip("`'\""))


def _docstrings_of_tools(path: Path) -> Iterator[Text]:
    """What an agent reads of a tool: its title stands in the code as others do."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            isinstance(each, ast.Call) and getattr(each.func, "attr", "") == "tool" for each in node.decorator_list
        ):
            yield Text(f"{path.relative_to(ROOT)}:{node.lineno}", ast.get_docstring(node) or "")


def _help() -> Iterator[Text]:
    """What `--help` says of each command, of each below it, and of their options."""

    def of(command: Any, name: str) -> Iterator[Text]:
        for _, text in joined(list(enumerate((command.help or "").splitlines()))):
            yield Text(f"{name} --help", text)
        for option in command.params:
            yield Text(f"{name} {'/'.join(option.opts)}", getattr(option, "help", None) or "")
        for below, inner in getattr(command, "commands", {}).items():
            yield from of(inner, f"{name} {below}")

    for name, late in LATE.items():
        yield Text("bot/cli/on_demand.py LATE", late.help)
        yield from of(late.imported(name), f"waterline {name}")


def _declared() -> Iterator[Text]:
    for name, task in find_tasks(spark_tasks).items():
        its = task.task
        for text in (its.title, its.question, its.confirmed_means, its.cost):
            yield Text(f"spark_tasks/{name}.py TASK", text)
    for code, mode in failure_modes().items():
        for text in (mode.mode.title, *mode.mode.neighbours.values(), *mode.mode.false_positives):
            yield Text(f"MODE {code}", text)
    for name, module in find_actions(actions).items():
        action = module.action
        for text in (action.title, action.promise, *(what for _, what in action.proofs + action.proofs_of_start)):
            yield Text(f"bot/actions/{name}.py ACTION", text)


def _template(path: Path) -> Iterator[Text]:
    """A value is one word; a tag ends a sentence unless it stands within one."""
    text = _JINJA.sub(lambda hit: "\n" * hit.group().count("\n"), path.read_text(encoding="utf-8"))
    text = re.sub(r"</?(b|i|em|strong|code|a|span|time)\b[^>]*>", "", re.sub(r"\{\{.*?\}\}", "value", text))
    for number, line in enumerate(text.splitlines(), 1):
        if (path.name.endswith((".html.j2", ".md.j2")) or "<text" in line) and (
            words := re.sub(r"<[^>]*>", "\n", line)
        ):
            yield Text(f"{path.relative_to(ROOT)}:{number}", words)


class _Strings(ast.NodeVisitor):
    """The strings of one module that are sentences; of an f-string each value is one word."""

    def __init__(self, path: Path) -> None:
        self.texts: list[Text] = []
        self.errors: list[Text] = []
        self.described: list[Text] = []
        self._name = str(path.relative_to(ROOT))
        self._in_error = False
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                    child.value = ast.Constant(value=None)  # a docstring
        self.visit(tree)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called == "Field":
            self.described += [Text(f"{self._name}:{node.lineno}", flat(each.value)) for each in node.keywords
                               if each.arg == "description"]  # fmt: skip
        if called in _NOT_READ:
            return
        before, self._in_error = self._in_error, self._in_error or called in _ERRORS
        self.generic_visit(node)
        self._in_error = before

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._take(node.lineno, flat(node))
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        text = flat(node)
        if isinstance(node.op, ast.Add) and " " in text.replace("value", "").strip():
            self._take(node.lineno, text)
        else:
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._take(node.lineno, node.value)

    def _take(self, line: int, text: str) -> None:
        if " " in text.strip() and not _SQL.search(text):
            (self.errors if self._in_error else self.texts).append(Text(f"{self._name}:{line}", text))


def flat(node: ast.AST, value: str = "value") -> str:
    """A string of the code, with `value` in the place of each that is put in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(flat(part, value) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return flat(left, value) + flat(right, value)
        case _:
            return value
