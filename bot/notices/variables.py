"""What a template can name, out of the types of the facts; and what a template does name. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args, get_origin

from jinja2 import nodes
from pydantic import BaseModel

from bot.notices.facts import NoticeFacts


class Fact(NamedTuple):
    """One variable, with its way: `affected.rows`, `reading.runs[].path`; `[]` stands for each of a list."""

    path: str
    kind: str
    """Which of several shapes has it, as their field `kind` names it; empty: it is always there."""
    description: str


def facts_documented(model: type[BaseModel] = NoticeFacts, before: str = "", kind: str = "") -> Iterator[Fact]:
    """Every fact, each before those that stand in it, in the order of the types."""
    for name, field in model.model_fields.items():
        path = f"{before}{name}"
        yield Fact(path, kind, " ".join((field.description or "").split()))
        inner = list(_models(field.annotation))
        for place, each in inner:
            shape = str(each.model_fields["kind"].default) if len(inner) > 1 else kind
            yield from facts_documented(each, f"{path}{place}.", shape)


def facts_named(tree: nodes.Template) -> Iterator[tuple[str, int]]:
    """(way, line) of each variable that a template names; a loop's own name stands for what it runs over."""
    yield from _named(tree, {})


def _models(annotation: Any) -> Iterator[tuple[str, type[BaseModel]]]:
    """(`[]` or nothing, type) of the records in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield "", annotation
    is_list = get_origin(annotation) is tuple
    for argument in get_args(annotation):
        for place, found in _models(argument):
            yield (f"[]{place}" if is_list else place), found


def _named(node: nodes.Node, loops: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    way = _way(node, loops)
    if way is not None:
        yield way, node.lineno
    if isinstance(node, nodes.For) and isinstance(node.target, nodes.Name):
        yield from _named(node.iter, loops)
        over = _way(node.iter, loops)
        loops = {**loops, node.target.name: f"{over}[]" if over else ""}
        for each in (*node.body, *node.else_):
            yield from _named(each, loops)
        return
    for child in node.iter_child_nodes():
        yield from _named(child, loops)


def _way(node: nodes.Node, loops: Mapping[str, str]) -> str | None:
    """None for what is no variable, or comes out of a filter."""
    match node:
        case nodes.Name():
            return loops.get(node.name, node.name) or None
        case nodes.Getattr():
            way = _way(node.node, loops)
            return f"{way}.{node.attr}" if way else None
        case nodes.Getitem():
            way = _way(node.node, loops)
            return way if way is None or isinstance(node.arg, nodes.Slice) else f"{way}[]"
    return None
