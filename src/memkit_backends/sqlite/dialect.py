"""What SQLite says differently."""

from __future__ import annotations

from memkit_backends.relational.dialect import Dialect
from memkit_backends.sqlite.searching import strongest, text

SQLITE = Dialect(
    name="sqlite",
    store_clock="(SELECT memkit_clock())",  # once for a statement, not for each row
    lock_row="",  # the writer's transaction holds the whole file
    take_scope="",
    is_one_of_texts=lambda name: f"IN (SELECT value FROM json_each({name}))",
    is_one_of_integers=lambda name: f"IN (SELECT value FROM json_each({name}))",
    purged_at_once=100,  # nobody else writes meanwhile, and a commit takes its time too
    strongest=strongest,
    text=text,
)
