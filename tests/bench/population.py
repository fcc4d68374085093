"""Whose items there are: a few scopes of many items and many of few, all told at random."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from memkit.decay import Policy, from_microseconds, microseconds
from memkit.models import MemoryItem, Scope, content_hash, utcnow
from memkit.text import tokenize
from memkit_backends.relational.item_rows import columns_of

DAY = 86_400_000_000
SMALL, MIDDLE = 100, 1_000
BIG = 100_000
"""Items of one scope; the one big scope has a fifth of the items at most."""

POLICIES = {
    "semantic": Policy(),
    "preference": Policy(0.97),
    "episodic": Policy(0.9),
}
KIND = "semantic"
"""Of every item where there is one kind only."""
PHRASES = 50_000
LAYOUT = 4
"""Raised when what is seeded changes, so that a kept folder is seeded anew."""

COLUMNS = (
    "scope_pk", "id", "status", "kind", "origin", "policy", "fades_at", "ends_at",
    "expires_at", "observed_at", "content_hash", "session_id", "position", "content", "tokens",
    "importance", "created_at", "reinforced_at", "pinned", "valid_from", "valid_to",
    "superseded_by", "job_id", "model", "key", "value", "metadata",
)  # fmt: skip
Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Population:
    """`items` items; scopes are numbers from 0."""

    items: int

    @property
    def big(self) -> int:
        """Items of scope 0."""
        return min(BIG, self.items // 5)

    @property
    def middle(self) -> range:
        """Scopes of 1,000."""
        return range(1, 1 + max(1, (self.items - self.big) // 2 // MIDDLE))

    @property
    def mixed(self) -> range:
        """Scopes of 100 with three kinds that fade by different factors."""
        small = (self.items - self.big - len(self.middle) * MIDDLE) // SMALL
        return range(self.middle.stop, self.middle.stop + max(1, small // 4))

    @property
    def small(self) -> range:
        """Scopes of 100, all of one kind."""
        left = self.items - self.big - len(self.middle) * MIDDLE - len(self.mixed) * SMALL
        return range(self.mixed.stop, self.mixed.stop + max(1, left // SMALL))

    @property
    def scopes(self) -> list[Scope]:
        """Every scope, by number."""
        return [scope_of(number) for number in range(self.small.stop)]

    def owners(self) -> list[int]:
        """The scope of each item, in the order in which they came: mixed up, as in life."""
        sizes = [self.big] + [MIDDLE] * len(self.middle)
        sizes += [SMALL] * (len(self.mixed) + len(self.small))
        owners = [scope for scope, size in enumerate(sizes) for _ in range(size)]
        random.Random(self.items).shuffle(owners)
        return owners

    def rows(self, pks: list[int], now: datetime) -> Iterator[Row]:
        """The row of each item; `pks` are the numbers of the scopes in the database."""
        rng, words = random.Random(self.items), Words()
        origin = int(rng.random() * 2**32) << 64
        kinds = list(POLICIES)
        for at, owner in enumerate(self.owners()):
            kind = rng.choice(kinds) if owner in self.mixed else KIND
            yield row_of(pks[owner], origin + at, words, rng, now, kind=kind)

    def numbered(self) -> Iterator[Row]:
        """The same rows for another database, each with the number of its scope as `scope_pk`."""
        return self.rows([*range(self.small.stop)], utcnow())


class Words:
    """Words as unevenly used as those of a language; each is its own stem."""

    def __init__(self, count: int = 5_000) -> None:
        syllables = ["".join(each) for each in itertools.product("bdfgklmnprstv", "aou")]
        made = ["".join(each) for each in itertools.product(syllables, repeat=3)]
        self.known = random.Random(7).sample(made, count)
        weights = list(itertools.accumulate(1 / (rank + 10) for rank in range(count)))
        drawn = iter(random.Random(8).choices(self.known, cum_weights=weights, k=4 * PHRASES))
        # Put together from phrases, since a million texts are drawn.
        self._phrases = [" ".join(each) for each in zip(drawn, drawn, drawn, drawn, strict=True)]

    def text(self, rng: random.Random) -> str:
        """What an item says: three phrases of four words."""
        phrases = self._phrases
        return " ".join([phrases[int(rng.random() * len(phrases))] for _ in range(3)])

    def query(self, rng: random.Random) -> tuple[str, ...]:
        """Eight different words that somebody may ask for: not the most frequent ones."""
        frequent = frozenset(self.known[:20])
        asked: dict[str, None] = {}
        while len(asked) < 8:
            asked |= dict.fromkeys(word for word in self.text(rng).split() if word not in frequent)
        return tuple(asked)[:8]


def scope_of(number: int) -> Scope:
    """The scope that is called by a number."""
    return Scope(user_id=f"user-{number}")


def id_of(number: int) -> str:
    """A UUID, as text."""
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def row_of(  # noqa: PLR0913  # what an item is made of
    scope_pk: int, number: int, words: Words, rng: random.Random, now: datetime, *, kind: str = KIND
) -> Row:
    """One item of the last days, in the order of COLUMNS."""
    text = words.text(rng)
    importance = 0.4 + 0.6 * rng.random()
    then = microseconds(now) - int(rng.random() * 5 * DAY)
    policy = POLICIES[kind]
    days = math.log(policy.threshold / importance) / math.log(policy.factor)
    fades_at = then + int(days * DAY)
    item_hash = hashlib.sha256(text.encode()).hexdigest()[:32]
    session, position = f"session-{number % 50}", number % 400
    return (
        scope_pk, id_of(number), "active", kind, "user", policy.name, fades_at, None,
        fades_at, then, item_hash, session, position, text, text, importance, then, then, False,
        None, None, None, None, None, None, "null", "{}",
    )  # fmt: skip


def expired(pks: list[int], count: int, now: datetime) -> list[Row]:
    """Rows of items that faded within the last day, in scopes here and there."""
    words, rng = Words(), random.Random(now.timestamp())
    origin = rng.getrandbits(60) << 64
    rows = []
    for number in range(count):
        row = list(row_of(rng.choice(pks), origin + number, words, rng, now))
        gone = microseconds(now) - int(rng.random() * DAY)
        row[COLUMNS.index("fades_at")] = row[COLUMNS.index("expires_at")] = gone
        rows.append(tuple(row))
    return rows


def facts(count: int) -> list[Row]:
    """Rows of items that were just learnt, but for their scope, which comes first."""
    words, rng, now = Words(), random.Random(), utcnow()
    ids = [rng.getrandbits(120) for _ in range(count)]
    return [row_of(0, each, words, rng, now)[1:] for each in ids]


def refuse_another_schema(row: Row) -> None:
    """AssertionError unless memkit itself would write a row like `row`."""
    given = dict(zip(COLUMNS, row, strict=True))
    dates = ("created_at", "observed_at", "reinforced_at", "fades_at")
    told = ("id", "content", "kind", "importance", "policy", "tokens", "origin")
    content = str(given["content"])
    if (
        " ".join(tokenize(content)) != given["tokens"]
        or content_hash(content) != given["content_hash"]
    ):
        raise AssertionError("words of the bench are no longer their own stems")
    item = MemoryItem.model_validate(
        {name: given[name] for name in told}
        | {"scope": scope_of(0)}
        | {name: from_microseconds(int(str(given[name]))) for name in dates}
    )
    # The first source has a place in the row; where it stands apart, no read of recall looks.
    mine = columns_of(item) | {name: given[name] for name in ("session_id", "position")}
    if {"scope_pk": given["scope_pk"], **mine} != given:
        raise AssertionError("the store keeps items otherwise; see tests/bench/population.py")
