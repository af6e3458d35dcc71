"""Names and values from data are never part of a statement, an expression or a template."""

import ast
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.contract import TableContract
from tests.evidence.conftest import Asks, asks
from tests.tables import CONTRACT, ORDERS, OrdersTable, of_flink, rows

pytestmark = pytest.mark.slow

__all__ = ["asks"]

ROOT = Path(__file__).parents[2]
STATEMENTS = {"sql", "expr", "selectExpr", "where", "filter", "having", "text", "execute", "exec_driver_sql",
              "executescript", "from_string", "system", "popen", "literal_column"}  # fmt: skip
OF_CONSTANTS = {"bot/adapters/journal_sql/engine.py", "bot/adapters/journal_sql/membership.py",
                "spark_tasks/_replay.py"}  # fmt: skip
"""PRAGMA and SET take no parameters; what is put into them are numbers and names that stand in the same file. The
SELECT of a replay is the operators' own, from their configuration; within another SELECT it can only be a query."""
HOSTILE = {
    "order_id": "order`id`) OR 1=1 --",
    "source_partition": "a.b.c",
    "source_position": "x'; DROP TABLE sales.orders; --",
    "event_time": 'CASE WHEN true THEN "event" END',
    "customer": "{{ 7*7 }}${jndi:ldap://x}",
}
"""Column names that would be something else in a statement."""
TIMES = {"s", "seconds"}
WITH_COLUMNS = ("duplicate_rows", "missing_positions", "late_rows", "replayed_rows", "corrected_rows",
                "backfill_boundary", "freshness", "ledger")  # fmt: skip
"""Every task that is told columns by the contract."""


COMMITS = (
    ("a", 1, range(900, 1000)),
    ("a", 2, range(600, 640)),
    ("b", 2, range(600, 650)),
    ("b", 3, range(1010, 1020)),
)
"""Late rows, rows twice and a gap."""


def product_files() -> Iterator[Path]:
    """The product's code: neither the lab, which breaks its own tables by SQL, nor the local workspace."""
    for package in ("bot", "spark_tasks"):
        for path in (ROOT / package).rglob("*.py"):
            if not {"lab", "workspace"} & set(path.relative_to(ROOT).parts):
                yield path


def built_of_parts(node: ast.expr) -> bool:
    """Whether a text is put together from something that is no constant."""
    match node:
        case ast.JoinedStr(values=values):
            return any(isinstance(value, ast.FormattedValue) for value in values)
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=left, right=right):
            return any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in (left, right)) or any(
                built_of_parts(n) for n in (left, right)
            )
        case ast.Call(func=ast.Attribute(attr="format" | "join")):
            return True
        case _:
            return False


def test_no_statement_is_put_together_from_parts() -> None:
    """No f-string, `%`, `+`, `format` or `join` is handed to anything that reads a statement, an expression or a
    template: names go through `column()`, values through `lit` and parameters."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in product_files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) in STATEMENTS
        and any(built_of_parts(argument) for argument in node.args)
        and str(path.relative_to(ROOT)) not in OF_CONSTANTS
    ]

    assert found == []


def test_no_shell_reads_a_command() -> None:
    """Processes are started from lists; nothing is evaluated."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in product_files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and (
            any(
                k.arg == "shell" and not (isinstance(k.value, ast.Constant) and not k.value.value)
                for k in node.keywords
            )
            or (isinstance(node.func, ast.Name) and node.func.id in {"eval", "exec", "compile", "__import__"})
        )
    ]

    assert found == []


class HostileTable(OrdersTable):
    """The same table, made under its hostile names."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.catalog.drop_table(ORDERS)
        self._table = self.catalog.create_table(ORDERS, schema=rows([]).rename_columns(list(HOSTILE.values())).schema)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OrdersTable, OrdersTable]]:
    """The same rows twice: under plain names, and under hostile ones in a folder whose name is hostile, too."""
    plain = OrdersTable(tmp_path_factory.mktemp("plain"))
    folder = tmp_path_factory.mktemp("hostile") / 'it\'s a `lake`; $(touch pwned) "x" ${HOME}'
    folder.mkdir()
    hostile = HostileTable(folder)
    for run, checkpoint, positions in COMMITS:
        told = rows(positions)
        plain.appends(told, of_flink(run, checkpoint))
        hostile.appends(told.rename_columns(list(HOSTILE.values())), of_flink(run, checkpoint))
    yield plain, hostile
    plain.close()
    hostile.close()


_OFTEN = ("ledger", "duplicate_rows", "missing_positions")


@pytest.mark.parametrize(
    "task", [*_OFTEN, *(pytest.param(task, marks=pytest.mark.long) for task in WITH_COLUMNS if task not in _OFTEN)]
)
def test_hostile_names_of_columns_and_folders_change_no_answer(
    tables: tuple[OrdersTable, OrdersTable], asks: Asks, task: str
) -> None:
    """Whatever a column or a folder is called, each task answers as it does for plain names."""
    plain, hostile = tables
    contract = CONTRACT.model_copy(
        update={"late_after": timedelta(minutes=1), "position_partition": "source_partition", "freshness": timedelta(1)}
    )

    expected = asks(task, plain.ask(plain.state().chain[-1].snapshot_id, contract=contract))
    answer = asks(task, hostile.ask(hostile.state().chain[-1].snapshot_id, contract=renamed(contract)))

    assert answer.verdict == expected.verdict, answer.headline
    assert [m.value for m in answer.measures if m.unit not in TIMES] == [
        m.value for m in expected.measures if m.unit not in TIMES
    ]
    assert len(answer.rows) == len(expected.rows)


def renamed(contract: TableContract) -> TableContract:
    """The same contract, its columns under their hostile names."""
    return contract.model_copy(
        update={
            "key": tuple(HOSTILE[name] for name in contract.key),
            "redacted": tuple(HOSTILE[name] for name in contract.redacted),
            **{field: HOSTILE[getattr(contract, field)] for field in ("position", "position_partition", "event_time")},
        }
    )
