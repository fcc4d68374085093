"""Numbered migrations as they are written down, and as one script to be run by other hands."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

from memkit_backends.postgres.naming import quoted

_SCHEMA = re.compile(r"\bmemkit\.")


class Migration(NamedTuple):
    """One step of the schema: its number, its name, its statements."""

    number: int
    name: str
    script: str

    def within(self, schema: str) -> str:
        """The script for a schema, which is quoted, and the note that it was run."""
        script = _SCHEMA.sub(lambda _: f"{schema}.", self.script)
        note = (
            f"INSERT INTO {schema}.migration (number, name) VALUES ({self.number}, '{self.name}');"
        )
        return f"{script}\n{note}\n"


def migrations() -> list[Migration]:
    """All steps, in order."""
    found = files("memkit_backends.postgres.migrations").iterdir()
    scripts = sorted((each for each in found if each.name.endswith(".sql")), key=lambda f: f.name)
    return [
        Migration(int(each.name[:4]), each.name.removesuffix(".sql"), each.read_text("utf-8"))
        for each in scripts
    ]


def supported() -> int:
    """The schema version that this memkit writes."""
    return migrations()[-1].number


def whole_script(name: str) -> str:
    """What a new schema called `name` takes, in one transaction."""
    schema = quoted(name)
    steps = "\n".join(each.within(schema) for each in migrations())
    return f"BEGIN;\n\nCREATE SCHEMA IF NOT EXISTS {schema};\n\n{steps}\nCOMMIT;\n"
