"""What the review proposes to add to a data contract: YAML of the standard that says it, once pasted."""

from datetime import timedelta
from pathlib import Path

from bot.adapters.contracts import contract_of
from bot.domain.contract import ContractColumn, TableContract
from bot.domain.contract_terms import contract_snippet
from tests import orders_table as orders

MINUTE = timedelta(minutes=1)
HEAD = "apiVersion: v3.1.0\nkind: DataContract\nid: orders\nversion: 1.0.0\nstatus: active\n"


def test_the_snippet_says_what_only_table_and_configuration_say(tmp_path: Path) -> None:
    """Read as a contract of the standard it promises the key, the positions, the columns and the service levels."""
    effective = orders.contract().model_copy(update={"commit_every": 2 * MINUTE, "keep_snapshots": timedelta(days=5)})
    filed = TableContract(columns=(ContractColumn(name="order_id", type="uuid"),))

    snippet = contract_snippet(orders.observation(), filed, effective)

    file = tmp_path / "orders.odcs.yaml"
    file.write_text(f"{HEAD}{snippet}\n", encoding="utf-8")
    said = contract_of(file, orders.TABLE)
    named = {column.name: column.type for column in orders.table_state().columns}
    assert {column.name: column.type for column in said.columns} == named
    assert (said.key, said.position, said.event_time) == (effective.key, effective.position, effective.event_time)
    assert (said.commit_every, said.keep_snapshots) == (2 * MINUTE, timedelta(days=5))


def test_no_promise_is_loosened_because_it_broke() -> None:
    """What the contract promises stays, and a column that the table lost is a fault, not a promise to drop."""
    there = orders.table_state().columns[0]
    lost = ContractColumn(name="lost", type="long")
    filed = orders.contract().model_copy(
        update={"commit_every": MINUTE / 60, "columns": (ContractColumn(name=there.name, type=there.type), lost)}
    )

    snippet = contract_snippet(orders.observation(), filed, filed) or ""

    assert "frequency" not in snippet
    assert "lost" not in snippet
    assert there.name not in snippet


def test_a_contract_that_says_it_all_needs_nothing() -> None:
    """No snippet, rather than an empty one."""
    state = orders.table_state()
    filed = orders.contract().model_copy(
        update={
            "columns": tuple(ContractColumn(name=c.name, type=c.type) for c in state.columns),
            "commit_every": MINUTE,
            "checkpoint_every": MINUTE,
        }
    )

    assert contract_snippet(orders.observation(), filed, filed) is None
