"""Ways to fail that take a store, a configuration or a framework: for `tests.gates.quiet`."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memkit.app import open_memory
from memkit.config import Config, load
from memkit.memory import Memory
from memkit.sync import open_memory_sync
from tests.gates.backends import SQLITE, file_of
from tests.gates.postgres import POSTGRES
from tests.gates.quiet import SCOPE, Heard, Secrets, say

BACKENDS = {backend.name: backend for backend in (SQLITE, POSTGRES)}

REFUSE = {
    "sqlite": """
        CREATE TRIGGER refused BEFORE INSERT ON item WHEN new.kind = 'procedural'
        BEGIN SELECT RAISE(ABORT, 'refused'); END
    """,
    "postgres": "ALTER TABLE item ADD CONSTRAINT refused CHECK (kind <> 'procedural')",
}
"""Makes the database itself refuse a row, which it may then quote."""

END_SESSIONS = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
     WHERE application_name = 'memkit' AND pid <> pg_backend_pid()
"""


async def locations(heard: Heard, secrets: Secrets) -> None:
    """Places that cannot be opened, each with a password in it."""
    raw, safe = secrets.password, quote(secrets.password, safe="")
    wrong = {
        "nobody listens": f"postgresql://ann:{safe}@127.0.0.1:1/memory",
        "no such port": f"postgresql://ann:{safe}@127.0.0.1:port/memory",
        "an unescaped password": f"postgresql://ann:{raw}@127.0.0.1:1/memory",
        "a password in the query": f"postgresql://127.0.0.1:1/memory?user=ann&password={safe}",
        "an unknown setting": f"postgresql://ann:{safe}@127.0.0.1:1/memory?shema=x",
        "no such schema": f"postgresql://ann:{safe}@127.0.0.1:1/memory?schema=pg_x",
        "a file with a login": f"sqlite://ann:{safe}@host/memory.db",
        "a file with a query": f"sqlite:///memory.db?key={safe}",
        "no such store": f"mysql://ann:{safe}@host/memory",
        "no scheme": f"://ann:{safe}@host/memory",
    }
    for name, url in wrong.items():
        for table in (url, {"url": url, "password": raw}):
            await heard.tell(name, lambda store=table: used({"store": store}))
    await heard.tell(
        "a part's own secret",
        lambda: used(
            {"store": "memory://", "extractor": {"use": "llm", "api_key": raw, "model": raw}}
        ),
    )
    file = Path(secrets.folder) / "memkit.toml"
    for name, text in {
        "a secret in a file": f'store = "postgresql://ann:{safe}@host/memory"',
        "a secret by name": f'[extractor]\nuse = "llm"\napi_key = "{safe}"',
        "a file that is none": f'store = "{safe}\npassword',
    }.items():
        file.write_text(text)
        await heard.tell(name, lambda: used_from(file))
    environ = {"MEMKIT_STORE": wrong["nobody listens"], "MEMKIT_EXTRACTOR__API_KEY": raw}
    config = await heard.tell("an environment", lambda: loaded(environ))
    heard.show(config, config.store, config.extractor, config.masked())
    await heard.tell(
        "a misspelt variable",
        lambda: loaded({"MEMKIT_STORE__PASWORD": raw, **environ, "MEMKIT_STOR": raw}),
    )


async def used(settings: dict[str, Any]) -> None:
    """A memory with these settings, used once."""
    async with open_memory(Config.model_validate(settings)) as memory:
        await memory.stats()


async def used_from(file: Path) -> None:
    """A memory as a file has it, used once."""
    async with open_memory(file) as memory:
        await memory.stats()


async def loaded(environ: dict[str, str]) -> Config:
    """The configuration that these variables make."""
    return load("memory://" if "MEMKIT_STORE" not in environ else None, environ=environ)


async def breakdowns(heard: Heard, secrets: Secrets) -> None:
    """A store that fails while it works."""
    backend, word = BACKENDS[secrets.backend], secrets.word
    backend.rows(secrets.location, REFUSE[backend.name])
    async with open_memory(Config.model_validate({"store": secrets.location})) as memory:
        await heard.tell("a refused row", lambda: memory.remember(SCOPE, word, kind="procedural"))
        said = [{"role": "user", "content": f"I know how to {word}"}]
        await heard.tell("recorded", lambda: memory.record(SCOPE, said, session_id="r"))
        await heard.tell("another loop", lambda: elsewhere(memory, word))
        if backend is POSTGRES:
            backend.rows(secrets.location, END_SESSIONS)
            await heard.tell("lost sessions", lambda: memory.remember(SCOPE, f"{word} again"))
    if backend is SQLITE:
        for name, way in FILE_FAILURES.items():
            await way(heard, secrets, name)


async def elsewhere(memory: Memory, word: str) -> object:
    """Use a memory on another loop."""
    return await asyncio.to_thread(lambda: asyncio.run(memory.search(SCOPE, word)))


async def busy(heard: Heard, secrets: Secrets, name: str) -> None:
    """Somebody else writes all the time."""
    options = {"use": "sqlite", "path": str(file_of(secrets.location)), "busy_timeout": 0.05}
    async with open_memory(Config.model_validate({"store": options})) as memory:
        with closing(sqlite3.connect(file_of(secrets.location), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await heard.tell(name, lambda: memory.remember(SCOPE, f"{secrets.word} waits"))


async def read_only(heard: Heard, secrets: Secrets, name: str) -> None:
    """Nothing may be written."""
    options = {"use": "sqlite", "path": str(file_of(secrets.location)), "read_only": True}
    async with open_memory(Config.model_validate({"store": options})) as memory:
        await heard.tell(name, lambda: memory.remember(SCOPE, f"{secrets.word} waits"))
        await heard.tell("read", lambda: memory.search(SCOPE, secrets.word))


async def damaged(heard: Heard, secrets: Secrets, name: str) -> None:
    """Pages are overwritten with the word itself."""
    path = Path(secrets.folder) / "damaged.db"
    shutil.copy(file_of(secrets.location), path)
    pages = bytearray(path.read_bytes())
    noise = (secrets.word.encode() * (len(pages) // len(secrets.word) + 1))[: len(pages) - 8192]
    path.write_bytes(pages[:8192] + noise)
    await heard.tell(name, lambda: used_words(path, secrets.word))


async def used_words(path: Path, word: str) -> None:
    """Ask a file for everything."""
    async with open_memory(f"sqlite:///{path}") as memory:
        await memory.search(SCOPE, word)
        await memory.scan("items")
        await memory.remember(SCOPE, f"{word} waits")


FILE_FAILURES: dict[str, Callable[[Heard, Secrets, str], Awaitable[None]]] = {
    "held by another": busy,
    "read only": read_only,
    "damaged": damaged,
}


def nodes(heard: Heard, secrets: Secrets) -> None:
    """LangGraph's nodes, well and over a store that is closed: the turn goes on in silence."""
    from memkit_adapters.langgraph import InjectNode, RecordNode

    state = {"messages": [("user", f"I live in {secrets.word}")]}
    config = {"configurable": {"user_id": "ann", "thread_id": "t"}}
    with open_memory_sync(Config.model_validate({"store": "memory://"})) as memory:
        inject, record = InjectNode(memory), RecordNode(memory)
        record.invoke(state, config)
        inject.invoke(state, config)
        heard.show(memory, inject, record)
    for node in (inject, record):
        node.invoke(state, config)
        heard.paths.append(f"{node.name} over nothing: done")


def commands(heard: Heard, secrets: Secrets) -> None:
    """The command line, whose output joins ours; none of these commands is asked for content."""
    url = f"postgresql://ann:{quote(secrets.password, safe='')}@127.0.0.1:1/memory"
    for arguments in (
        ["check", "--store", url, "--json"],
        ["check", "--store", url],
        ["record", "--store", url, "--user", "ann", "--session", "s", "--text", secrets.word],
        [
            "record",
            "--store",
            secrets.location,
            "--user",
            "ann",
            "--session",
            "s",
            "--text",
            secrets.word,
        ],
        ["consolidate", "--store", secrets.location],
        ["jobs", "--store", secrets.location],
    ):
        code = "import sys; from memkit.cli import main; sys.exit(main())"
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "MEMKIT_EXTRACTOR": "verbatim"},
        )
        say(done.stdout, done.stderr)
        heard.paths.append(f"{arguments[0]}: {done.returncode}")
