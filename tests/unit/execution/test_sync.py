"""sync: files and tables to files and tables; whole or not at all; twice is once."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from kickwheel.errors import ExecutionFailed, TaskRefused
from kickwheel.execution.ports import Surroundings
from kickwheel.execution.sync import SyncExecutor
from tests.unit.execution.execution_world import binding, everything_below, task

Around = Callable[..., Surroundings]
ORDERS = "id,placed,amount,note\n0001,2026-10-01,12.5,好\n0002,2026-10-02,7,\n"
TO_FILE = "  source: {file: orders.csv}\n  output: {file: '${home}/orders.parquet'}"
TO_TABLE = "  source: {file: orders.csv}\n  output: {url: 'sqlite:///${home}/shop.db', table: orders}"
KEYED = TO_TABLE.replace("table: orders", "table: orders, key: [id]")


@pytest.fixture
def orders(folder: Path) -> Path:
    path = folder / "orders.csv"
    path.write_text(ORDERS, encoding="utf-8")
    return path


def table(database: Path, query: str = "SELECT * FROM orders ORDER BY id") -> list[tuple[object, ...]]:
    connection = sqlite3.connect(database)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_csv_becomes_parquet_with_types_and_leading_zeros(orders: Path, home: Path, around: Around) -> None:
    bound = binding(TO_FILE)
    result = SyncExecutor().run(task("sync"), bound, around(bound))
    assert (result.rows_read, result.rows_written) == (2, 2)
    rows = pq.read_table(home / "orders.parquet").to_pylist()
    assert [row["id"] for row in rows] == ["0001", "0002"]
    assert [row["amount"] for row in rows] == [12.5, 7.0]
    assert [row["note"] for row in rows] == ["好", None]
    assert str(rows[0]["placed"]) == "2026-10-01"
    [output] = result.outputs
    assert output.file
    assert (output.file.rows, output.place) == (2, "${home}/orders.parquet")
    assert [path.name for path in home.iterdir()] == ["orders.parquet"]


@pytest.mark.parametrize("number", ["12345678901234567", "00", "-007"])
def test_numbers_that_would_lose_digits_stay_text(folder: Path, home: Path, around: Around, number: str) -> None:
    (folder / "orders.csv").write_text(f"id\n1\n{number}\n", encoding="utf-8")
    bound = binding(TO_FILE)
    SyncExecutor().run(task("sync"), bound, around(bound))
    assert pq.read_table(home / "orders.parquet").to_pylist() == [{"id": "1"}, {"id": number}]


def test_a_late_row_of_another_type_is_seen(folder: Path, home: Path, around: Around) -> None:
    (folder / "orders.csv").write_text("id\n" + "1\n" * 30_000 + "x\n", encoding="utf-8")
    bound = binding(TO_FILE)
    assert SyncExecutor().run(task("sync"), bound, around(bound)).rows_written == 30_001


def test_types_of_a_binding_are_followed_and_checked(orders: Path, home: Path, around: Around) -> None:
    bound = binding(TO_FILE.replace("{file: orders.csv}", "{file: orders.csv, types: {amount: VARCHAR}}"))
    SyncExecutor().run(task("sync"), bound, around(bound))
    assert pq.read_table(home / "orders.parquet")["amount"].to_pylist() == ["12.5", "7"]
    bound = binding(TO_FILE.replace("{file: orders.csv}", "{file: orders.csv, types: {price: VARCHAR}}"))
    with pytest.raises(ExecutionFailed, match=r'orders\.csv: .*"price" do not exist'):
        SyncExecutor().run(task("sync"), bound, around(bound))


def test_twice_is_once_in_a_table(orders: Path, home: Path, around: Around) -> None:
    bound = binding(TO_TABLE)
    for _ in range(2):
        SyncExecutor().run(task("sync"), bound, around(bound))
    assert [row[0] for row in table(home / "shop.db")] == ["0001", "0002"]


def test_with_a_key_other_rows_stay_and_same_ones_are_replaced(orders: Path, home: Path, around: Around) -> None:
    bound = binding(KEYED)
    SyncExecutor().run(task("sync"), bound, around(bound))
    orders.write_text("id,placed,amount,note\n0002,2026-10-02,8,changed\n0003,2026-10-03,1,new\n", encoding="utf-8")
    result = SyncExecutor().run(task("sync"), bound, around(bound))
    assert result.rows_written == 2
    assert table(home / "shop.db", "SELECT id, amount FROM orders ORDER BY id") == [
        ("0001", 12.5),
        ("0002", 8.0),
        ("0003", 1.0),
    ]


def test_a_key_that_stands_twice_is_refused_and_named(orders: Path, home: Path, around: Around) -> None:
    orders.write_text("id,amount\n0001,1\n0001,2\n0002,3\n", encoding="utf-8")
    bound = binding(KEYED)
    with pytest.raises(ExecutionFailed, match=r"1 keys of id stand in more than one row: 0001 \(2 rows\)"):
        SyncExecutor().run(task("sync"), bound, around(bound))
    assert not (home / "shop.db").exists()


def test_a_row_without_a_key_is_refused_since_it_would_be_doubled(orders: Path, home: Path, around: Around) -> None:
    orders.write_text("id,amount\n0001,1\n,2\n", encoding="utf-8")
    bound = binding(KEYED)
    with pytest.raises(ExecutionFailed, match=r"orders\.csv: 1 rows have an empty cell in the key id"):
        SyncExecutor().run(task("sync"), bound, around(bound))


def test_a_table_becomes_parquet_and_another_table(folder: Path, home: Path, around: Around) -> None:
    connection = sqlite3.connect(folder / "shop.db")
    connection.execute("CREATE TABLE orders (id INTEGER, at DATETIME, price NUMERIC(10,2), paid BOOLEAN, raw BLOB, note TEXT)")
    connection.executemany(
        "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)",
        [(number, "2026-10-01 08:00:00.000000", 1.25, 1, b"x", None) for number in range(45_000)],
    )
    connection.commit()
    connection.close()
    source = "  source: {url: 'sqlite:///${domain}/shop.db', table: orders}\n"
    bound = binding(source + "  output: {file: '${home}/orders.parquet'}")
    assert SyncExecutor().run(task("sync"), bound, around(bound)).rows_written == 45_000
    row = pq.read_table(home / "orders.parquet").slice(44_999).to_pylist()[0]
    assert (row["id"], str(row["at"]), row["price"], row["paid"], row["raw"], row["note"]) == (
        44_999, "2026-10-01 08:00:00", 1.25, True, b"x", None,
    )  # fmt: skip
    bound = binding(source + "  output: {url: 'sqlite:///${home}/copy.db', table: orders}")
    assert SyncExecutor().run(task("sync"), bound, around(bound)).rows_written == 45_000
    assert table(home / "copy.db", "SELECT count(*), count(DISTINCT id) FROM orders") == [(45_000, 45_000)]


def test_jsonl_with_lists_goes_into_a_table_as_json(folder: Path, home: Path, around: Around) -> None:
    (folder / "orders.jsonl").write_text('{"id": "a", "tags": ["好", "x"]}\n{"id": "b", "tags": []}\n', encoding="utf-8")
    bound = binding(TO_TABLE.replace("orders.csv", "orders.jsonl"))
    SyncExecutor().run(task("sync"), bound, around(bound))
    assert table(home / "shop.db") == [("a", '["好", "x"]'), ("b", "[]")]


def test_a_value_that_is_not_of_its_column_s_type_names_the_column(folder: Path, home: Path, around: Around) -> None:
    connection = sqlite3.connect(folder / "shop.db")
    connection.execute("CREATE TABLE orders (id INTEGER)")
    connection.execute("INSERT INTO orders VALUES ('x')")  # SQLite lets it in
    connection.execute("CREATE TABLE times (at DATETIME)")
    connection.execute("INSERT INTO times VALUES ('soon')")
    connection.commit()
    connection.close()
    for name, told in (("orders", "column 'id'"), ("times", "not of its column's type")):
        source = f"  source: {{url: 'sqlite:///${{domain}}/shop.db', table: {name}}}\n"
        bound = binding(source + "  output: {file: '${home}/o.parquet'}")
        with pytest.raises(ExecutionFailed, match=told):
            SyncExecutor().run(task("sync"), bound, around(bound))


def test_a_table_that_lacks_a_column_is_refused_and_left_as_it_was(orders: Path, home: Path, around: Around) -> None:
    home.mkdir(parents=True)
    connection = sqlite3.connect(home / "shop.db")
    connection.execute("CREATE TABLE orders (id TEXT)")
    connection.execute("INSERT INTO orders VALUES ('old')")
    connection.commit()
    connection.close()
    bound = binding(TO_TABLE)
    for step in (SyncExecutor().plan, SyncExecutor().run):
        with pytest.raises(ExecutionFailed, match="has no column 'placed'"):
            step(task("sync"), bound, around(bound))
    assert table(home / "shop.db") == [("old",)]


def test_a_failure_half_way_leaves_the_table_as_it_was(folder: Path, home: Path, around: Around) -> None:
    home.mkdir(parents=True)
    connection = sqlite3.connect(home / "shop.db")
    connection.execute("CREATE TABLE orders (id INTEGER CHECK (id < 30000))")
    connection.execute("INSERT INTO orders VALUES (7)")
    connection.commit()
    connection.close()
    (folder / "orders.csv").write_text("id\n" + "".join(f"{n}\n" for n in range(40_000)), encoding="utf-8")
    bound = binding(TO_TABLE)
    with pytest.raises(ExecutionFailed, match="CHECK constraint failed"):
        SyncExecutor().run(task("sync"), bound, around(bound))
    assert table(home / "shop.db") == [(7,)]


KILLED = """
import os, signal, sys
from pathlib import Path
from kickwheel.execution import {module}
from tests.unit.execution.execution_world import NOW, binding, task
from kickwheel.execution.placeholders import placeholders_of
from kickwheel.execution.ports import Surroundings
from kickwheel.execution.sync import SyncExecutor
{patch}
folder, home = Path(sys.argv[1]), Path(sys.argv[2])
bound = binding(sys.argv[3])
around = Surroundings("claims", folder, home.parent / "executions", placeholders_of(sys.argv[3], {{}},
    {{"domain": str(folder), "home": str(home)}}), lambda: NOW, print, NOW)
SyncExecutor().run(task("sync"), bound, around)
"""
DIES_BEFORE_COMMIT = """
import sqlalchemy
commit = sqlalchemy.engine.default.DefaultDialect.do_commit
def dying(self, connection):
    if connection.total_changes > 2:  # two rows deleted, three inserted
        os.kill(os.getpid(), signal.SIGKILL)
    commit(self, connection)
sqlalchemy.engine.default.DefaultDialect.do_commit = dying
"""
DIES_BEFORE_MOVE = "staging_adapter.hash_file = lambda path: os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    ("text", "module", "patch"),
    [
        (TO_TABLE, "table_adapter", DIES_BEFORE_COMMIT),
        (TO_FILE, "staging_adapter", DIES_BEFORE_MOVE),
    ],
)
def test_a_kill_leaves_the_old_rows_and_the_next_run_the_new_ones(
    folder: Path, home: Path, around: Around, root: Path, text: str, module: str, patch: str
) -> None:
    bound = binding(text)
    (folder / "orders.csv").write_text("id\n1\n2\n", encoding="utf-8")
    SyncExecutor().run(task("sync"), bound, around(bound))
    (folder / "orders.csv").write_text("id\n1\n2\n3\n", encoding="utf-8")

    def ids() -> list[int]:
        if (home / "orders.parquet").exists():
            return [row["id"] for row in pq.read_table(home / "orders.parquet").to_pylist()]
        return [row[0] for row in table(home / "shop.db")]  # type: ignore[misc]

    code = textwrap.dedent(KILLED.format(module=module, patch=patch))
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    done = subprocess.run([sys.executable, "-c", code, str(folder), str(home), text], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert ids() == [1, 2]
    SyncExecutor().run(task("sync"), bound, around(bound))
    assert ids() == [1, 2, 3]
    left = [path.name for path in [*home.rglob("*"), *(home.parent / "executions").rglob("*")]]
    assert [name for name in left if "tmp" in name or "staging" in name] == []


def test_a_dry_run_says_what_would_happen_and_writes_nothing(orders: Path, tmp_path: Path, home: Path, around: Around) -> None:
    before = everything_below(tmp_path)
    for text in (TO_FILE, TO_TABLE, KEYED):
        bound = binding(text)
        plan = SyncExecutor().plan(task("sync"), bound, around(bound))
        assert (plan.rows, plan.reads) == (2, ("orders.csv",))
        assert plan.steps[0] == "read 2 rows with the columns id, placed, amount, note"
        assert everything_below(tmp_path) == before
    assert plan.steps[1] == "in one transaction, replace the rows with the same id of sqlite:///${home}/shop.db table orders"


def test_what_is_not_there_is_told(folder: Path, around: Around) -> None:
    for source, told in (
        ("{file: none.csv}", "none.csv: there is no such file"),
        ("{url: 'sqlite:///${domain}/none.db', table: t}", "there is no such database file"),
        ("{url: 'nosuch://db', table: t}", "nosuch"),
    ):
        bound = binding(f"  source: {source}\n  output: {{file: o.parquet}}")
        with pytest.raises((ExecutionFailed, TaskRefused), match=told):
            SyncExecutor().plan(task("sync"), bound, around(bound))
    assert list(folder.iterdir()) == []


def test_a_table_that_is_not_there_names_those_that_are(folder: Path, around: Around) -> None:
    connection = sqlite3.connect(folder / "shop.db")
    connection.execute("CREATE TABLE customers (id)")
    connection.close()
    bound = binding("  source: {url: 'sqlite:///${domain}/shop.db', table: orders}\n  output: {file: o.parquet}")
    with pytest.raises(ExecutionFailed, match="no such table; there are: customers"):
        SyncExecutor().plan(task("sync"), bound, around(bound))


def test_reading_and_writing_the_same_place_is_refused(orders: Path, around: Around) -> None:
    bound = binding("  source: {file: orders.csv}\n  output: {file: '${domain}/./orders.csv'}")
    with pytest.raises(TaskRefused, match="would be read and written"):
        SyncExecutor().run(task("sync"), bound, around(bound))


def test_no_secret_is_in_an_error(around: Around) -> None:
    bound = binding("  source: {url: '${SHOP_DB}', table: orders}\n  output: {file: o.parquet}")
    environment = {"SHOP_DB": "sqlite:////no/such/folder-s3cret/shop.db"}
    with pytest.raises(ExecutionFailed) as caught:
        SyncExecutor().plan(task("sync"), bound, around(bound, environment))
    assert "s3cret" not in str(caught.value)


def test_duckdb_fetches_no_extension() -> None:
    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    loaded = connection.execute("SELECT extension_name FROM duckdb_extensions() WHERE loaded").fetchall()
    assert {"json", "parquet"} <= {name for (name,) in loaded}
