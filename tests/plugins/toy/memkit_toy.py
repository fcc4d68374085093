"""A whole plugin: a store, an extractor and an observer."""

from __future__ import annotations

from memkit import Event, Extraction, ExtractionRequest, Extractor, Proposal, Store, hookimpl
from memkit.inmemory import InMemoryStore
from memkit.registry import Options, Registry

EVENTS: list[Event] = []


class ToyStore(InMemoryStore):
    """Keeps nothing longer than the process."""

    def __init__(self, shelf: str) -> None:
        super().__init__()
        self.shelf = shelf
        self.closed = 0

    async def aclose(self) -> None:
        """Count how often."""
        self.closed += 1
        await super().aclose()


class Shouting:
    """Proposes what was said, in capitals."""

    fingerprint = "shouting/1"

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """One proposal for each turn."""
        return Extraction(
            proposals=tuple(
                Proposal(content=turn.message.text.upper(), sources=(turn.number,))
                for turn in request.turns
            )
        )


async def open_store(options: Options) -> Store:
    """`toy://shelf`, or a table with `shelf`."""
    options.expect("shelf")
    shelf = options.url.partition("://")[2] if options.url else options.get("shelf", str, "top")
    return ToyStore(shelf)


async def open_extractor(options: Options) -> Extractor:
    """Takes no settings."""
    options.expect()
    return Shouting()


@hookimpl
def memkit_register(registry: Registry) -> None:
    """Offer both."""
    registry.stores.add("toy", open_store)
    registry.extractors.add("toy", open_extractor)


@hookimpl
def memkit_observe(event: Event) -> None:
    """Remember what happened."""
    EVENTS.append(event)
    if event.stage == "decay":
        raise RuntimeError("a-canary")
