"""Forgotten text: gone from every answer at once, and from every byte after `erase`."""

from __future__ import annotations

from pathlib import Path

import pytest

from memkit.errors import StoreBusy
from memkit.models import Changes, Episodes, Items, Messages, Session, Target, WholeScope
from memkit.testing.reading import everything
from memkit.testing.values import HERE, NOW, a_message, a_source, an_episode, an_item
from memkit_backends.sqlite import open_store

pytestmark = pytest.mark.anyio

CANARY = "xylophonecanary"


def bytes_of(place: Path) -> bytes:
    """Every byte of every file of the store, folded."""
    return b"".join(each.read_bytes() for each in sorted(place.iterdir())).lower()


@pytest.mark.parametrize("kind", ["scope", "session", "messages", "episodes", "items"])
async def test_nothing_is_left_in_any_file(path: Path, kind: str) -> None:
    """After `forget` no answer holds the text, after `erase` no file does."""
    store = await open_store(path)
    message = a_message(f"My {CANARY} is secret", key=f"{CANARY}-key")
    message = message.model_copy(update={"metadata": {CANARY: CANARY}})
    episode = an_episode(message, *(f"filler {number}" for number in range(50)), session_id="s")
    await store.append([episode])
    item = an_item(
        f"Plays the {CANARY.upper()}",
        sources=[a_source(episode)],
        key="k" if kind == "items" else None,
        value={"instrument": CANARY},
    ).model_copy(update={"metadata": {"note": CANARY}})
    others = [an_item(f"fact {number}") for number in range(200)]
    await store.apply(HERE, Changes(add=(item, *others)))
    targets: dict[str, Target] = {
        "scope": WholeScope(scope=HERE),
        "session": Session(scope=HERE, session_id="s"),
        "messages": Messages(scope=HERE, session_id="s", keys=(f"{CANARY}-key",)),
        "episodes": Episodes(scope=HERE, ids=(episode.id,)),
        "items": Items(scope=HERE, ids=(item.id,)),
    }
    if kind == "items":
        # The evidence stays where only the item is forgotten.
        await store.forget(targets["messages"], at=NOW)
    receipt = await store.forget(targets[kind], at=NOW)
    assert receipt.items or kind == "items"
    assert CANARY not in repr(await everything(store)).lower()
    assert CANARY.encode() in bytes_of(path.parent), "forget alone rewrites no free page"
    await store.erase()
    assert CANARY.encode() not in bytes_of(path.parent)
    await store.aclose()
    assert CANARY.encode() not in bytes_of(path.parent)


async def test_redacted_text_is_gone_from_every_file_too(path: Path) -> None:
    """A replacement stands where the text stood, and nowhere is the text."""
    store = await open_store(path)
    await store.append([an_episode(f"My {CANARY}", keys=["k"], session_id="s")])
    target = Messages(scope=HERE, session_id="s", keys=("k",))
    await store.forget(target, at=NOW, replacement="[redacted]")
    await store.erase()
    assert CANARY.encode() not in bytes_of(path.parent)
    assert b"[redacted]" in bytes_of(path.parent)
    await store.aclose()


async def test_erasing_says_when_others_hold_old_pages(path: Path) -> None:
    """While another process reads, its log cannot be cut: that is an error, not a success."""
    store = await open_store(path, busy_timeout=0.05)
    other = await open_store(path, busy_timeout=0.05)

    def begin_reading(connection: object) -> None:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM item").fetchall()

    await store.append([an_episode("tea")])
    await other._file.run(begin_reading)
    with pytest.raises(StoreBusy):
        await store.erase()
    await other._file.run(lambda connection: connection.execute("COMMIT"))
    await store.erase()
    await other.aclose()
    await store.aclose()
