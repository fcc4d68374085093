"""What `Store.forget` promises with a replacement: the words go, the conversation stays."""

from __future__ import annotations

from memkit.contracts import Store
from memkit.models import (
    Changes,
    Episodes,
    Message,
    Messages,
    ReasoningBlock,
    Session,
    Target,
    TextBlock,
)
from memkit.testing.reading import all_episodes, contents, texts
from memkit.testing.suite import StoreSuite
from memkit.testing.values import HERE, NOW, a_message, a_source, an_episode, an_item

CARD = an_episode("My card is 4111", "Noted", keys=["c-1", "c-2"])
OTHER = an_episode("My card is 4222", "Noted", session_id="s-2")
THIRD = an_episode("My card is 4333", session_id="s-3")


class RedactingRules(StoreSuite):
    """Redaction: one text in place of another, everywhere and for good."""

    async def test_the_text_is_replaced_and_the_message_stays(self, store: Store) -> None:
        """Place, role, name and key stay; the receipt counts the redacted, and none as removed."""
        await store.append([CARD, OTHER, THIRD])
        targets: tuple[tuple[Target, list[str]], ...] = (
            (Messages(scope=HERE, session_id="s-1", keys=("c-1",)), ["[gone]", "Noted"]),
            (Session(scope=HERE, session_id="s-2"), ["[gone]", "[gone]"]),
            (Episodes(scope=HERE, ids=(THIRD.id,)), ["[gone]"]),
        )
        for target, expected in targets:
            receipt = await store.forget(target, at=NOW, replacement="[gone]")
            assert (receipt.redacted, receipt.messages) == (expected.count("[gone]"), 0)
        kept = {each.session_id: each.messages for each in await all_episodes(store)}
        assert [[each.text for each in said] for _, said in sorted(kept.items())] == [
            expected for _, expected in targets
        ]
        assert [(each.role, each.name, each.key) for each in kept["s-1"]] == [
            (each.role, each.name, each.key) for each in CARD.messages
        ]

    async def test_nothing_of_a_redacted_message_is_left(self, store: Store) -> None:
        """Every block and the metadata go with the text."""
        message = Message(
            role="user",
            key="c-1",
            metadata={"canary-1": "canary-2"},
            content=(
                TextBlock(text="canary-3", extra={"canary-4": 1}),
                ReasoningBlock(text="canary-5"),
            ),
        )
        await store.append([an_episode(message)])
        shown = repr(await all_episodes(store))
        assert all(f"canary-{number}" in shown for number in range(1, 6))
        target = Messages(scope=HERE, session_id="s-1", keys=("c-1",))
        await store.forget(target, at=NOW, replacement="[gone]")
        shown = repr(await all_episodes(store))
        assert "canary" not in shown
        assert "[gone]" in shown

    async def test_what_came_from_a_redacted_message_goes(self, store: Store) -> None:
        """Items from redacted messages alone are forgotten as if the messages were."""
        card = an_item("Has card 4111", sources=[a_source(CARD)])
        note = an_item("Takes notes", sources=[a_source(CARD, 1)])
        await store.append([CARD])
        await store.apply(HERE, Changes(add=(card, note)))
        target = Messages(scope=HERE, session_id="s-1", keys=("c-1",))
        receipt = await store.forget(target, at=NOW, replacement="[gone]")
        assert receipt.items == 1
        assert await contents(store) == ["Takes notes"]

    async def test_a_redacted_message_handed_in_again_stays_redacted(self, store: Store) -> None:
        """The history with the old words is known by its digests, and brings nothing back."""
        await store.append([CARD])
        head = (await store.tail(HERE, "s-1", limit=5)).head
        await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW, replacement="[gone]")
        again = an_episode(a_message("My card is 4111", key="c-1"), a_message("Noted", key="c-2"))
        for revise in (False, True):
            [answer] = await store.append([again], revise=revise)
            assert (answer.stored, answer.head) == (0, head)
        assert await texts(store) == ["[gone]", "[gone]"]
