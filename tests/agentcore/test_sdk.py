"""The official SDK, unmodified: its clients, its Strands session manager, its Strands stores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from memkit.testing.agentcore import Emulator

# The SDK deprecates parts of itself and of Strands.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

FACTS = {"semanticMemoryStrategy": {"name": "facts", "namespaceTemplates": ["/facts/{actorId}/"]}}


@pytest.fixture
def emulator(agentcore_environment: Emulator) -> Emulator:
    """An emulator that the SDK finds by the environment alone."""
    pytest.importorskip("bedrock_agentcore")
    return agentcore_environment


@pytest.fixture
def client(emulator: Emulator) -> Iterator[Any]:
    """The SDK's older client."""
    from bedrock_agentcore.memory import MemoryClient

    made = MemoryClient(region_name="us-east-1")
    assert made.gmdp_client.meta.endpoint_url == emulator.endpoint_url
    yield made
    made.gmcp_client.close()
    made.gmdp_client.close()


@pytest.fixture
def memory_id(client: Any) -> str:
    """A memory that extracts facts, made by the SDK."""
    made = client.create_memory_and_wait(name="demo", strategies=[FACTS], poll_interval=0)
    assert made["status"] == "ACTIVE"
    return str(made["id"])


def test_memory_client_control_plane(client: Any, memory_id: str) -> None:
    """Creating, finding again, adding and deleting strategies, deleting."""
    assert client.create_or_get_memory(name="demo", strategies=[FACTS])["id"] == memory_id
    assert [one["id"] for one in client.list_memories()] == [memory_id]
    client.add_summary_strategy_and_wait(memory_id, name="digest", poll_interval=0)
    client.add_user_preference_strategy_and_wait(memory_id, name="likes", poll_interval=0)
    client.add_episodic_strategy_and_wait(
        memory_id,
        name="episodes",
        namespaces=["/episodes/{actorId}/{sessionId}/"],
        reflection_namespaces=["/episodes/{actorId}/"],
        poll_interval=0,
    )
    prompts = {"extraction_config": {"prompt": "be brief", "modelId": "m"}}
    prompts["consolidation_config"] = prompts["extraction_config"]
    client.add_custom_semantic_strategy_and_wait(memory_id, name="own", poll_interval=0, **prompts)
    strategies = client.get_memory_strategies(memory_id)
    names = [one["name"] for one in strategies]
    assert names == ["facts", "digest", "likes", "episodes", "own"]
    client.modify_strategy(memory_id, strategies[0]["strategyId"], description="changed")
    client.delete_strategy(memory_id, strategies[1]["strategyId"])
    assert len(client.get_memory_strategies(memory_id)) == 4
    client.delete_memory_and_wait(memory_id, poll_interval=0)
    assert client.list_memories() == []


def test_memory_client_conversation(client: Any, memory_id: str) -> None:
    """Turns are written, read back in order, branched and listed."""
    place = {"memory_id": memory_id, "actor_id": "ann", "session_id": "s1"}
    first = client.create_event(messages=[("hello", "USER"), ("hi", "ASSISTANT")], **place)
    client.create_blob_event(blob_data={"state": 1}, **place)
    fork = {"root_event_id": first["eventId"], "branch_name": "alt"}
    client.fork_conversation(new_messages=[("other", "USER")], **fork, **place)
    assert len(client.list_events(**place)) == 3
    assert len(client.list_events(branch_name="alt", **place)) == 1
    names = {branch["name"] for branch in client.list_branches(**place)}
    assert names == {"main", "alt"}
    turns = client.get_last_k_turns(k=5, branch_name="main", **place)
    said = [message["content"]["text"] for turn in turns for message in turn]
    assert sorted(said) == ["hello", "hi", "other"]
    assert client.list_branch_events(branch_name="alt", **place)
    tree = client.get_conversation_tree(**place)["main_branch"]["branches"]
    assert {name: len(branch["events"]) for name, branch in tree.items()} == {"main": 2, "alt": 1}


def test_memory_client_retrieval(emulator: Emulator, client: Any, memory_id: str) -> None:
    """What was said is found after extraction, by namespace."""
    client.create_event(memory_id, "ann", "s1", [("I like green tea", "USER")])
    wanted = {"memory_id": memory_id, "namespace": "/facts/ann/", "query": "tea"}
    assert client.retrieve_memories(**wanted) == []
    emulator.clock.advance(60)
    (found,) = client.retrieve_memories(**wanted)
    assert found["content"]["text"] == "I like green tea"
    assert client.wait_for_memories(memory_id, "/facts/ann/", "tea", max_wait=1)
    given = client.process_turn_with_llm(
        memory_id=memory_id,
        actor_id="ann",
        session_id="s1",
        user_input="what do I like?",
        llm_callback=lambda _, memories: memories[0]["content"]["text"],
        retrieval_namespace="/facts/ann/",
    )
    assert given[1] == "I like green tea"


def test_memory_session_manager(emulator: Emulator, memory_id: str) -> None:
    """The newer client: sessions, turns, metadata, branches, records, clean-up."""
    from bedrock_agentcore.memory import MemorySessionManager
    from bedrock_agentcore.memory.constants import ConversationalMessage, MessageRole

    manager = MemorySessionManager(memory_id=memory_id, region_name="us-east-1")
    session = manager.create_memory_session(actor_id="ann", session_id="s1")

    def says(text: str, role: Any = MessageRole.USER) -> Any:
        return ConversationalMessage(text, role)

    event = session.add_turns([says("I like tea"), says("Noted", MessageRole.ASSISTANT)])
    session.fork_conversation([says("And cake")], event["eventId"], "alt")
    assert len(session.list_events()) == 2
    assert {branch["name"] for branch in session.list_branches()} == {"main", "alt"}
    assert session.get_event(event["eventId"])["eventId"] == event["eventId"]
    assert session.get_last_k_turns(k=1)
    assert [one["actorId"] for one in session.list_actors()] == ["ann"]
    assert [one["sessionId"] for one in session.get_actor().list_sessions()] == ["s1"]
    emulator.clock.advance(60)
    found = session.search_long_term_memories("tea", namespace="/facts/ann/", top_k=5)
    assert "I like tea" in [one["content"]["text"] for one in found]
    records = session.list_long_term_memory_records(namespace_path="/facts/")
    assert len(records) == 2
    record_id = records[0]["memoryRecordId"]
    assert session.get_memory_record(record_id)["memoryRecordId"] == record_id
    session.delete_memory_record(record_id)
    manager.delete_all_long_term_memories_in_namespace("/facts/ann/")
    assert session.list_long_term_memory_records(namespace_path="/facts/") == []
    session.delete_event(event["eventId"])
    assert len(session.list_events()) == 1


class Parrot:
    """A Strands model that repeats the last text it was sent."""

    def __new__(cls) -> Any:
        """Make it when Strands is at hand."""
        from strands.models import Model

        class Made(Model):
            stateful = False

            def update_config(self, **_: Any) -> None: ...

            def get_config(self) -> dict[str, Any]:
                return {}

            async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
                raise NotImplementedError
                yield

            async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
                said = messages[-1]["content"][-1]["text"]
                yield {"messageStart": {"role": "assistant"}}
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": f"You said: {said}"}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "end_turn"}}

        return Made()


def agent_of(memory_id: str, **options: Any) -> Any:
    """A Strands agent whose session lives in the memory."""
    from bedrock_agentcore.memory.integrations.strands.config import (
        AgentCoreMemoryConfig,
        RetrievalConfig,
    )
    from bedrock_agentcore.memory.integrations.strands.session_manager import (
        AgentCoreMemorySessionManager,
    )
    from strands import Agent

    config = AgentCoreMemoryConfig(
        memory_id=memory_id,
        session_id="s1",
        actor_id="ann",
        retrieval_config={"/facts/{actorId}/": RetrievalConfig(relevance_score=0.0)},
        **options,
    )
    manager = AgentCoreMemorySessionManager(config, region_name="us-east-1")
    agent = Agent(model=Parrot(), session_manager=manager, agent_id="guide", callback_handler=None)
    return agent, manager


@pytest.mark.parametrize("batch_size", [1, 10])
def test_strands_session_manager(emulator: Emulator, memory_id: str, batch_size: int) -> None:
    """An agent talks, is gone, and comes back with its conversation and its memories."""
    agent, manager = agent_of(memory_id, batch_size=batch_size)
    agent("I like green tea")
    manager.close()
    emulator.clock.advance(60)
    again, manager = agent_of(memory_id, batch_size=batch_size)
    texts = [block["text"] for message in again.messages for block in message["content"]]
    assert "I like green tea" in texts
    assert "You said: I like green tea" in texts
    again("What do I drink?")
    manager.close()
    assert len(again.messages) == 4
    asked = again.messages[2]["content"]
    assert "green tea" in asked[0]["text"]
    assert emulator.log.counts()["RetrieveMemoryRecords"] == 2


def test_strands_memory_store(emulator: Emulator, memory_id: str) -> None:
    """A store writes messages with a stable token and finds them after extraction."""
    from bedrock_agentcore.memory.integrations.strands.memorystore import (
        create_agentcore_memory_stores,
    )

    (store,) = create_agentcore_memory_stores(
        memory_id=memory_id,
        actor_id="ann",
        session_id="s1",
        namespaces=[{"namespace": "/facts/{actorId}/", "min_score": 0.1}],
        extraction=True,
        region_name="us-east-1",
    )
    messages = [{"role": "user", "content": [{"text": "I like green tea"}]}]
    for _ in range(2):
        asyncio.run(store.add_messages(messages, _numbered(1)))
    assert asyncio.run(store.search("tea")) == []
    emulator.clock.advance(60)
    (found,) = asyncio.run(store.search("green tea"))
    assert found.content == "I like green tea"
    assert emulator.log.counts()["CreateEvent"] == 2


def _numbered(first: int) -> Any:
    from strands.memory import AddMessagesContext

    return AddMessagesContext(sequence_numbers=[first])


def test_control_plane_client(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's control-plane client, pointed here by its own variable."""
    from bedrock_agentcore.memory import MemoryControlPlaneClient

    monkeypatch.setenv("BEDROCK_AGENTCORE_CONTROL_ENDPOINT", emulator.endpoint_url)
    client = MemoryControlPlaneClient(region_name="us-east-1")
    memory = client.create_memory(name="plane", strategies=[FACTS], wait_for_active=True)
    memory_id = memory["id"]
    added = {"summaryMemoryStrategy": {"name": "digest"}}
    client.add_strategy(memory_id, added, wait_for_active=True)
    strategies = client.get_memory(memory_id)["strategies"]
    assert [one["name"] for one in strategies] == ["facts", "digest"]
    strategy_id = strategies[0]["strategyId"]
    assert client.get_strategy(memory_id, strategy_id)["name"] == "facts"
    client.update_strategy(memory_id, strategy_id, description="changed", wait_for_active=True)
    client.remove_strategy(memory_id, strategy_id, wait_for_active=True)
    assert [one["id"] for one in client.list_memories()] == [memory_id]
    client.delete_memory(memory_id, wait_for_deletion=True, wait_for_strategies=True)
    assert client.list_memories() == []
    client.client.close()
