"""What SQLite says differently."""

from __future__ import annotations

import json
from collections.abc import Sequence

from memkit_backends.relational.candidates import CANDIDATE
from memkit_backends.relational.dialect import Dialect

_IN_SCOPES = "SELECT pk, key FROM scope WHERE key IN (SELECT value FROM json_each(:scopes))"

_IS_WANTED = """
       item.status = 'active'
   AND item.expires_at > :now
   AND (:kinds IS NULL OR item.kind IN (SELECT value FROM json_each(:kinds)))
"""

# The policies of a scope are found by leaps through the index, one for each; so are the
# strongest of each policy, in one range.
# Index: item_strongest (scope_pk, policy, fades_at DESC, id, expires_at, kind).
_STRONGEST = f"""
  WITH RECURSIVE wanted (pk, key) AS ({_IN_SCOPES}),
       held (scope_pk, key, policy) AS (
           SELECT pk, key,
                  (SELECT min(policy) FROM item WHERE scope_pk = wanted.pk AND status = 'active')
             FROM wanted
            UNION ALL
           SELECT scope_pk, key,
                  (SELECT min(policy) FROM item
                    WHERE scope_pk = held.scope_pk AND status = 'active' AND policy > held.policy)
             FROM held
            WHERE policy IS NOT NULL
       )
SELECT {CANDIDATE}
  FROM held AS scope
  JOIN item ON item.pk IN (
           SELECT item.pk
             FROM item INDEXED BY item_strongest
            WHERE item.scope_pk = scope.scope_pk
              AND item.policy = scope.policy
              AND {_IS_WANTED}
            ORDER BY item.fades_at DESC, item.id
            LIMIT :strongest
       )
 ORDER BY scope.scope_pk, item.policy, item.fades_at DESC, item.id
"""

# The number of the scope before each word is put there by the triggers of item_text too. No
# scope has the number 0, so that without words or scopes nothing matches.
_TEXT = f"""
SELECT {CANDIDATE}, item.tokens
  FROM item_text
  JOIN item ON item.pk = item_text.rowid
  JOIN scope ON scope.pk = item.scope_pk
 WHERE item_text MATCH coalesce((
           SELECT group_concat('"' || wanted.pk || 'x' || word.value || '"', ' OR ')
             FROM ({_IN_SCOPES}) AS wanted, json_each(:words) AS word
       ), '"0x"')
   AND {_IS_WANTED}
 ORDER BY item_text.rowid DESC
 LIMIT :most
"""


def _words(tokens: Sequence[str]) -> str:
    # Doubled quotes keep any text inside its quotes: it is never a query language.
    return json.dumps([token.replace('"', '""') for token in dict.fromkeys(tokens)])


SQLITE = Dialect(
    name="sqlite",
    store_clock="memkit_clock()",
    lock_row="",  # the writer's transaction holds the whole file
    take_scope="",
    each_text=lambda name: f"SELECT value FROM json_each({name})",
    each_integer=lambda name: f"SELECT value FROM json_each({name})",
    strongest=_STRONGEST,
    text=_TEXT,
    words=_words,
)
