"""D08 and D09: only an exact, stated scope reads or writes anything."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from functools import partial

from memkit.errors import InvalidInput, ScopeError
from memkit.memory import Memory
from memkit.models import Scope
from memkit.testing.hostile import LOOKALIKES
from memkit.testing.reading import all_episodes, all_items
from tests.hostile.place import SCOPE, Place, cases, must, refused, same

SAID = ({"role": "user", "content": "I live in Oslo"},)

NO_SCOPES: dict[str, object] = {
    "nothing": None,
    "a text": "u1",
    "an empty text": "",
    "a star": "*",
    "a number": 0,
    "a list": ["u1"],
    "a pair": ("u1", None),
    "a table": {"user_id": "u1"},
    "bytes": b"u1",
    "the sort itself": Scope,
    "unset": Scope(),
}

NO_IDS: dict[str, object] = {
    "empty": "",
    "a blank": " ",
    "blanks": "\t\n\r\x0b",
    "a wide blank": "\u3000",
    "U+0000": "\0",
    "U+0000 within": "u\x001",
    "half a pair": "u\ud83d",
    "too long by one": "x" * 513,
    "too long in bytes": "\u00e9" * 257,
    "too long by far": "x" * 1_000_000,
    "a number": 1,
    "a truth": True,
    "bytes": b"u1",
    "a list": ["u1"],
    "a table": {"$ne": None},
    "a float": float("nan"),
}


async def calls(memory: Memory, scope: Scope, item_id: str) -> AsyncIterator[Awaitable[object]]:
    """Every verb that says whose memory, one by one."""
    yield memory.record(scope, SAID, session_id="s")
    yield memory.record(scope, SAID, session_id="s", history=True)
    yield memory.record(scope, [], session_id="s")
    yield memory.inject(scope)
    yield memory.inject(scope, query="Oslo")
    yield memory.search(scope, "Oslo")
    yield memory.search(scope, "")
    yield memory.remember(scope, "owns a dog")
    yield memory.get(scope, [item_id])
    yield memory.get(scope, [])
    yield memory.update(scope, item_id, importance=1.0)
    yield memory.pin(scope, item_id)
    yield memory.reinforce(scope, item_id)
    yield memory.forget(scope)
    yield memory.forget(scope, items=[item_id])
    yield memory.forget(scope, session_id="s")
    yield memory.forget(scope, session_id="s", message_keys=["k"])
    yield memory.forget(scope, episodes=[item_id])


async def refuse(scope: object, place: Place) -> object:
    """What is no scope is refused by every verb, as a ValueError too, and nothing happens."""
    async with place.memory() as memory:
        item = await memory.remember(SCOPE, "lives in Oslo")
        await memory.record(SCOPE, SAID, session_id="s")
        names = [await refused(call, ScopeError) async for call in calls(memory, scope, item.id)]
        must(issubclass(ScopeError, ValueError), "not a ValueError")
        same(await memory.get(SCOPE, [item.id]), [item])
        same((await memory.stats()).items, 2)
        same(len(await all_episodes(place.store)), 1)
        return names


async def refuse_id(given: object, place: Place) -> object:
    """What is no id makes no scope, no session, no key, and no shorter one by cleaning."""
    names = []
    for field in ("user_id", "agent_id", "workflow_id"):
        try:
            Scope(**{field: given})
        except ScopeError as exc:
            names.append(type(exc).__name__)
    same(len(names), 3)
    async with place.memory() as memory:
        await refused(memory.record(SCOPE, SAID, session_id=given), ScopeError)
        said = [{**SAID[0], "key": given}]
        await refused(memory.record(SCOPE, said, session_id="s"), ScopeError, InvalidInput)
        await refused(memory.remember(SCOPE, "x", key=given), ScopeError, InvalidInput)
    same(await all_episodes(place.store), [])
    return names


async def stay_apart(number: int, place: Place) -> object:
    """What looks like a scope is another one, for every verb; an exact match alone reads."""
    scope = LOOKALIKES[number]
    others = [each for each in LOOKALIKES if each != scope]
    must(len(others) == len(LOOKALIKES) - 1, "a scope equals another one")
    same(Scope.from_key(scope.key), scope)
    async with place.memory(scope={"allow_unscoped": True}) as memory:
        item = await memory.remember(scope, "lives in Oslo", key="home")
        await memory.record(scope, [{**SAID[0], "key": "k"}], session_id="s")
        for other in others:
            same((await memory.inject(other)).items, ())
            same(await memory.search(other, "Oslo"), [])
            same(await memory.get(other, [item.id]), [])
            same((await memory.scan("items", scope=other)).rows, ())
            same((await memory.scan("episodes", scope=other)).rows, ())
            same(await memory.consolidate(other), [])
            same((await memory.forget(other, items=[item.id])).items, 0)
        await refused(memory.update(others[0], item.id, content="stolen"), InvalidInput)
        await memory.forget(others[1])
        [told] = await memory.search(scope, "Oslo")
        same((told.id, await memory.get(scope, [item.id])), (item.id, [item]))
        same(len(await all_episodes(place.store, scope)), 1)
        return told.content


async def sessions_stay_apart(place: Place) -> object:
    """The same session id, message key or item key in another scope is another thing."""
    scopes = (Scope("a:b", "c"), Scope("a", "b:c"), Scope("a"), Scope("A"), Scope(None, "a"))
    async with place.memory() as memory:
        for scope in scopes:
            said = [{"role": "user", "content": f"I am {scope.key}", "key": "k"}]
            same((await memory.record(scope, said, session_id="s")).new, 1)
            await memory.remember(scope, f"name: {scope.key}", key="name")
        await memory.forget(scopes[0], session_id="s", message_keys=["k"])
        await memory.consolidate()
        left = {}
        for scope in scopes:
            contents = sorted(item.content for item in await all_items(place.store, scope))
            must(all(scope.key in content for content in contents), "another's memory")
            left[scope.key] = len(contents)
        same(list(left.values()), [1, 2, 2, 2, 2])
        return left


async def ids_are_no_paths(place: Place) -> object:
    """Ids that look like paths, patterns or code are kept to the letter."""
    ids = (
        "../../x",
        "C:\\x",
        "%2e%2e/",
        "/etc/passwd",
        "con",
        "a\nb",
        "~",
        "$HOME",
        "a/./b",
        "\\\\h\\s",
    )
    async with place.memory() as memory:
        for each in ids:
            await memory.remember(Scope(each, each, each), "likes tea", key=each)
            await memory.record(Scope(each), SAID, session_id=each)
    scopes = {item.scope.user_id for item in await all_items(place.store)}
    same(scopes - {"neighbor"}, set(ids))
    same({each.session_id for each in await all_episodes(place.store)}, set(ids))
    return len(scopes)


async def given_unstated(places: Sequence[str | None], place: Place) -> object:
    """The eighth case as it was handed to us: None and blanks read nobody's memory."""
    async with place.memory() as memory:
        for name, city in (("alice", "Oslo"), ("bob", "Rome")):
            await memory.remember(Scope(name), f"{name} lives in {city}")
        answers = []
        for each in places:
            try:
                scope = Scope(each)
            except ScopeError as exc:
                answers.append(type(exc).__name__)
                continue
            item_id = "00000000-0000-7000-8000-000000000000"
            if scope.is_unset:
                answers += [
                    await refused(call, ScopeError) async for call in calls(memory, scope, item_id)
                ]
            else:
                found = [hit.content for hit in await memory.search(scope, "lives in")]
                same(found, [f"{each} lives in Oslo"])
                answers += found
        return answers


async def given_patterns(
    stored: Sequence[tuple[str, str]], asked: Sequence[str], place: Place
) -> object:
    """The ninth case as it was handed to us: a scope is no pattern."""
    async with place.memory() as memory:
        for scope, text in stored:
            await memory.remember(Scope(scope), text)
        answers = {
            scope: [each.content for each in (await memory.inject(Scope(scope))).items]
            for scope in asked
        }
        wanted = {scope: [text for name, text in stored if name == scope] for scope in asked}
        same(answers, wanted)
        return answers


CASES = (
    *cases("no scope", ((name, partial(refuse, scope)) for name, scope in NO_SCOPES.items())),
    *cases("no id", ((name, partial(refuse_id, each)) for name, each in NO_IDS.items())),
    *cases("a scope", (
        (f"{number}. {scope.key[:40]}", partial(stay_apart, number))
        for number, scope in enumerate(LOOKALIKES))),
    *cases("scopes", [("share no session or key", sessions_stay_apart),
                      ("are no paths", ids_are_no_paths)]),
)  # fmt: skip
