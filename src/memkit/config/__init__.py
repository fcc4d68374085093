"""What can be configured, and where it is read from."""

from memkit.config.duration import Duration, format_duration, parse_duration
from memkit.config.loading import Source, load
from memkit.config.part import Part, Section
from memkit.config.settings import (
    Config,
    ConsolidateRules,
    DecayRules,
    InjectRules,
    PolicyRules,
    RankingRules,
    RecordRules,
    SchedulerPart,
    ScopeRules,
    StrategyRules,
)

__all__ = [
    "Config",
    "ConsolidateRules",
    "DecayRules",
    "Duration",
    "InjectRules",
    "Part",
    "PolicyRules",
    "RankingRules",
    "RecordRules",
    "SchedulerPart",
    "ScopeRules",
    "Section",
    "Source",
    "StrategyRules",
    "format_duration",
    "json_schema",
    "load",
    "parse_duration",
]


def json_schema() -> dict[str, object]:
    """A JSON Schema of the configuration, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "memkit",
        **Config.model_json_schema(),
    }
