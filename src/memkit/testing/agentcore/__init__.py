"""A local emulator of Amazon Bedrock AgentCore Memory."""

from importlib.util import find_spec

if find_spec("botocore") is None:
    raise ModuleNotFoundError(
        "the AgentCore emulator needs `agent-memkit[agentcore]`", name="botocore"
    )

from memkit.testing.agentcore.clock import VirtualClock
from memkit.testing.agentcore.emulator import Clients, Emulator
from memkit.testing.agentcore.extractors import Extraction, Extractor, Source
from memkit.testing.agentcore.fault_groups import GROUPS as FAULT_GROUPS
from memkit.testing.agentcore.faults import Faults, Rule
from memkit.testing.agentcore.log import LoggedRequest, RequestLog
from memkit.testing.agentcore.switches import Switches

__all__ = [
    "FAULT_GROUPS",
    "Clients",
    "Emulator",
    "Extraction",
    "Extractor",
    "Faults",
    "LoggedRequest",
    "RequestLog",
    "Rule",
    "Source",
    "Switches",
    "VirtualClock",
]
