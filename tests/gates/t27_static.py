"""T27: no SQL made of text at run time, no code from data, no network: read off the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.gates.verdict import Gate, Verdict

SOURCE = Path(__file__).parents[2] / "src"
RUNS_CODE = {"pickle", "marshal", "shelve", "dill", "yaml"}
REACHES_OUT = {"socket", "ssl", "http", "urllib.request", "ftplib", "smtplib", "requests", "httpx"}
CALLS = {"eval", "exec", "compile", "__import__"}
HAS_A_SERVER = "memkit/testing/agentcore"
"""The emulator is a server on loopback, loaded only by who asks for it."""
FORMATTED_SQL = (
    "SELECT ",
    "INSERT INTO ",
    "UPDATE ",
    "DELETE FROM ",
)
BUGS = {
    "pickle": "import pickle",
    "eval": "answer = eval(text)",
    "network": "import urllib.request",
    "format-sql": 'sql = "SELECT id FROM item WHERE {}".format(clause)',
}


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported, and the packages it is in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def findings(name: str, source: str) -> Iterator[str]:
    """What is wrong with one file. f-strings of SQL are typed LiteralString: mypy proves those."""
    tree = ast.parse(source)
    banned = RUNS_CODE if HAS_A_SERVER in name else RUNS_CODE | REACHES_OUT
    yield from (f"{name} imports {module}" for module in set(imports(tree)) & banned)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in CALLS:
                yield f"{name}:{node.lineno} calls {node.func.id}"
            if isinstance(node.func, ast.Attribute) and is_formatted_sql(node.func):
                yield f"{name}:{node.lineno} formats SQL"


def is_formatted_sql(call: ast.Attribute) -> bool:
    """True for "SELECT ...".format(...)."""
    text = call.value.value if isinstance(call.value, ast.Constant) else None
    return call.attr == "format" and isinstance(text, str) and text.startswith(FORMATTED_SQL)


def run(_n: int, _seed: int, bug: str | None) -> Verdict:
    """Every file under src, and with a bug one more."""
    files = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in SOURCE.rglob("*.py")}
    if bug:
        files["memkit/seeded.py"] = BUGS[bug]
    found = [finding for name, source in files.items() for finding in findings(name, source)]
    return Verdict(failed=len(found), facts={"files": len(files), "first": next(iter(found), "")})


GATES = [
    Gate(
        name="T27",
        promise="no pickle, eval, formatted SQL, or network import in the source",
        full=1,
        run=run,
        bugs=tuple(BUGS),
    )
]
