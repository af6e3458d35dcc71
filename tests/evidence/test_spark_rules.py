"""Evidence is computed in Spark and not here: no UDF, no RDD, and nothing is fetched without a limit.

Read from the source itself, so that it also holds of a branch that no test runs.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TASKS = sorted((Path(__file__).parents[2] / "spark_tasks").glob("*.py"))
OURS_PER_ROW = frozenset(
    {
        "udf", "udtf", "pandas_udf", "arrow_udf", "mapInPandas", "mapInArrow", "applyInPandas", "applyInArrow",
        "applyInPandasWithState", "transformWithState", "transformWithStateInPandas", "foreach", "foreachPartition",
        "foreachBatch", "registerJavaFunction",
    }
)  # fmt: skip
"""Run Python for each row, or send code to the server."""
PAST_CONNECT = frozenset({"rdd", "sparkContext", "_jvm", "_jdf", "_jsc", "_sc"})
"""Spark Connect has none of them."""
WHOLE = frozenset({"toPandas", "toArrow", "toLocalIterator", "pandas_api"})
"""Fetch everything that there is."""


def faults(source: str) -> list[str]:
    """`line: what`, for each thing that evidence must not do."""
    tree = ast.parse(source)
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        for name, line in _names(node):
            for forbidden in (OURS_PER_ROW, PAST_CONNECT, WHOLE):
                if name in forbidden:
                    found.append((line, name))
    for scope in _scopes(tree):
        limited = _limited_names(scope)
        found += [
            (call.lineno, "collect() without limit")
            for call in _own(scope)
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "collect"
            and not _is_limited(call.func.value, limited)
        ]
    return [f"{line}: {what}" for line, what in sorted(set(found))]


def _names(node: ast.AST) -> Iterator[tuple[str, int]]:
    """What is used or brought in under its own name."""
    match node:
        case ast.Attribute(attr=name):
            yield name, node.lineno
        case ast.Name(id=name):
            yield name, node.lineno
        case ast.ImportFrom(names=names):
            yield from ((each.name, node.lineno) for each in names)


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda))


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of the functions in it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield from _own(child)


def _limited_names(scope: ast.AST) -> frozenset[str]:
    """Names that the scope binds to nothing but limited frames; a parameter may be anything."""
    bound: dict[str, list[bool]] = {}
    for node in _own(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in (each.id for each in ast.walk(target) if isinstance(each, ast.Name)):
                    is_plain = isinstance(target, ast.Name)
                    bound.setdefault(name, []).append(is_plain and _is_limited(node.value, frozenset()))
    return frozenset(name for name, told in bound.items() if all(told))


def _is_limited(frame: ast.expr, limited: frozenset[str]) -> bool:
    """Whether the frame's last step is `.limit(…)`, or `first_of_each_task(…)`: what comes after it, a join or an
    explode, may grow again."""
    if isinstance(frame, ast.Name):
        return frame.id in limited
    if not isinstance(frame, ast.Call):
        return False
    step = frame.func
    return (isinstance(step, ast.Attribute) and step.attr == "limit") or (
        isinstance(step, ast.Name) and step.id == "first_of_each_task"
    )


@pytest.mark.parametrize("file", TASKS, ids=[file.stem for file in TASKS])
def test_evidence_runs_in_spark_and_fetches_little(file: Path) -> None:
    """A task over a billion rows must not send them here, nor Python there."""
    assert [] == faults(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("rows = frame.collect()", ["1: collect() without limit"]),
        ("rows = frame.groupBy('a').count().collect()", ["1: collect() without limit"]),
        ("rows = frame.limit(5).join(other, on='a').collect()", ["1: collect() without limit"]),
        ("def f(few):\n    return few.collect()", ["2: collect() without limit"]),
        ("few = frame.limit(5)\ndef f(few):\n    return few.collect()", ["3: collect() without limit"]),
        ("few = frame.limit(5)\nfew = frame\nfew.collect()", ["3: collect() without limit"]),
        ("read = lambda frame: frame.collect()", ["1: collect() without limit"]),
        ("few = frame.limit(5)\nfew.collect()", []),
        ("rows = frame.orderBy('a').limit(5).collect()", []),
        ("from pyspark.sql.functions import udf\n@udf\ndef double(x): return 2 * x", ["1: udf", "2: udf"]),
        ("double = F.pandas_udf(lambda x: 2 * x, 'long')", ["1: pandas_udf"]),
        ("frame.rdd.map(len)", ["1: rdd"]),
        ("frame.mapInPandas(double, 'a long')", ["1: mapInPandas"]),
        ("table = frame.limit(5).toPandas()", ["1: toPandas"]),
        ("for row in frame.toLocalIterator(): pass", ["1: toLocalIterator"]),
        ("spark._jvm.java.lang.System.exit(1)", ["1: _jvm"]),
    ],
)
def test_what_is_forbidden_is_found(planted: str, found: list[str]) -> None:
    """And what is allowed is not."""
    assert found == faults(planted)


def test_there_is_something_to_look_at() -> None:
    """A folder that moved would leave the rule without a file."""
    assert len(TASKS) > 50
