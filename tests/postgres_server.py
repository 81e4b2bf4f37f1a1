"""A real Postgres of our own for tests, started as a user who may run it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = "nobody"


def _program(name: str) -> str | None:
    found = [shutil.which(name), *sorted(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), reverse=True)]
    return next((path for path in found if path), None)


def _as_nobody() -> dict[str, int]:
    """Postgres refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    account = pwd.getpwnam(NOBODY)
    return {"user": account.pw_uid, "group": account.pw_gid}


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a private Postgres on this machine; stopped afterwards."""
    initdb, server = _program("initdb"), _program("postgres")
    if initdb is None or server is None:
        pytest.skip("no Postgres on this machine (apt-get install postgresql)")
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="kickwheel-pg-"))
    who = _as_nobody()
    if who:
        os.chown(folder, who["user"], who["group"])
    data, log = folder / "data", folder / "log"
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(folder)}
    run = {"cwd": folder, "env": environment, **who}
    command = [initdb, "-D", data, "-U", "kickwheel", "--auth=trust", "-E", "UTF8", "--no-sync"]
    subprocess.run(command, check=True, capture_output=True, **run)  # type: ignore[call-overload]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("w") as output:
        options = ["-h", "127.0.0.1", "-p", str(port), "-k", folder, "-c", "shared_buffers=16MB"]
        process = subprocess.Popen([server, "-D", data, *options], stdout=output, stderr=output, **run)  # type: ignore[call-overload]
    try:
        _wait_until_up(port, process, log)
        yield f"postgresql://kickwheel@127.0.0.1:{port}/postgres"
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_up(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    import time

    import psycopg

    for _ in range(300):
        assert process.poll() is None, log.read_text()
        try:
            psycopg.connect(host="127.0.0.1", port=port, user="kickwheel", dbname="postgres").close()
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="session")
def locked_postgres(postgres_server: str) -> str:
    """Address of the same server for a user who needs a password, which stands in the address."""
    import psycopg

    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("CREATE ROLE reader LOGIN PASSWORD 'right'")
        [hba] = connection.execute("SHOW hba_file").fetchone() or ("",)
        rules = Path(hba)
        rules.write_text("host all reader 127.0.0.1/32 scram-sha-256\n" + rules.read_text(encoding="utf-8"), encoding="utf-8")
        connection.execute("SELECT pg_reload_conf()")
    return postgres_server.replace("kickwheel@", "reader:right@")
