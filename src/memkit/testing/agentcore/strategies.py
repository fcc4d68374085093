"""Strategies of a memory: what was configured, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from memkit.testing.agentcore.errors import invalid_field
from memkit.testing.agentcore.namespaces import placeholders
from memkit.testing.agentcore.values import Json, Members, Params, as_members, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

PER_ACTOR = "/strategies/{memoryStrategyId}/actors/{actorId}/"
PER_SESSION = PER_ACTOR + "sessions/{sessionId}/"
BUILT_IN_PLACEHOLDERS = frozenset({"memoryStrategyId", "actorId", "sessionId"})
STRICT = "STRICTLY_CONSISTENT"
MOST_STRICT_KEYS = 3
DEFAULT_TRIGGERS: list[Json] = [
    {"messageBasedTrigger": {"messageCount": 6}},
    {"tokenBasedTrigger": {"tokenCount": 5000}},
    {"timeBasedTrigger": {"idleSessionTimeout": 20}},
]


class BuiltIn(NamedTuple):
    """A kind of strategy as the request names it."""

    shown: str
    extracts: str
    template: str


class Override(NamedTuple):
    """A custom configuration: the type it is shown as, and the prefix of its parts."""

    shown: str
    extracts: str
    prefix: str


BUILT_IN = {
    "semanticMemoryStrategy": BuiltIn("SEMANTIC", "semantic", PER_ACTOR),
    "summaryMemoryStrategy": BuiltIn("SUMMARIZATION", "summary", PER_SESSION),
    "userPreferenceMemoryStrategy": BuiltIn("USER_PREFERENCE", "preference", PER_ACTOR),
    "episodicMemoryStrategy": BuiltIn("EPISODIC", "episodic", PER_SESSION),
    "customMemoryStrategy": BuiltIn("CUSTOM", "none", PER_ACTOR),
}
OVERRIDES = {
    "semanticOverride": Override("SEMANTIC_OVERRIDE", "semantic", "semantic"),
    "summaryOverride": Override("SUMMARY_OVERRIDE", "summary", "summary"),
    "userPreferenceOverride": Override("USER_PREFERENCE_OVERRIDE", "preference", "userPreference"),
    "episodicOverride": Override("EPISODIC_OVERRIDE", "episodic", "episodic"),
}


@dataclass(kw_only=True)
class Strategy:
    """A server-side extractor; `extracts` says which function does its work."""

    strategy_id: str
    name: str
    shown: str
    extracts: str
    templates: list[str]
    created_at: int
    updated_at: int
    ready_at: float
    description: str | None = None
    configuration: Members = field(default_factory=dict)
    schema: list[Params] = field(default_factory=list)
    expiry_days: int | None = None

    def status(self, now: int) -> str:
        """Return CREATING or ACTIVE."""
        return "ACTIVE" if now >= self.ready_at else "CREATING"

    def schema_keys(self) -> set[str]:
        """Return the metadata keys that records of this strategy may have."""
        return {entry.text("key") for entry in self.schema}

    def strict_keys(self) -> list[str]:
        """Return the keys that are copied from the metadata of events."""
        return [entry.text("key") for entry in self.schema if _is_strict(entry)]

    def shown_as(self, now: int, status: str | None = None) -> Members:
        """Return the strategy as a member of an answer."""
        templates: list[Json] = list(self.templates)
        optional: Members = {
            "description": self.description,
            "configuration": self.configuration or None,
            "recordExpiryDurationDays": self.expiry_days,
            "memoryRecordSchema": self._shown_schema(),
        }
        return {
            "strategyId": self.strategy_id,
            "name": self.name,
            "type": self.shown,
            "namespaces": templates,
            "namespaceTemplates": templates,
            "createdAt": to_seconds(self.created_at),
            "updatedAt": to_seconds(self.updated_at),
            "status": status or self.status(now),
            **{name: value for name, value in optional.items() if value is not None},
        }

    def _shown_schema(self) -> Json:
        return {"metadataSchema": [entry.members for entry in self.schema]} if self.schema else None


def strategy_from(params: Params, strategy_id: str, now: int, ready_at: float) -> Strategy:
    """Build a strategy from the union of a request."""
    kind = next(name for name in BUILT_IN if name in params)
    given, built_in = params.part(kind), BUILT_IN[kind]
    extracts, configuration = _configuration(given, built_in)
    template = PER_SESSION if extracts in {"summary", "episodic"} else built_in.template
    return Strategy(
        strategy_id=strategy_id,
        name=given.text("name"),
        shown=built_in.shown,
        extracts=extracts,
        templates=given_templates(given) or [template],
        created_at=now,
        updated_at=now,
        ready_at=ready_at,
        description=given.text_or_none("description"),
        configuration=configuration,
        schema=given.part("memoryRecordSchema").parts("metadataSchema"),
        expiry_days=expiry_days(given),
    )


def given_templates(params: Params) -> list[str]:
    """Return the templates of a request; `namespaces` is the old name of the same."""
    return params.texts("namespaceTemplates") or params.texts("namespaces")


def expiry_days(params: Params) -> int | None:
    """Return the life of records that a request sets on a strategy."""
    specification = params.part("recordExpirySpecification")
    if "recordExpiryDurationDays" not in specification:
        return None
    return specification.whole("recordExpiryDurationDays", 0)


def check_templates(strategy: Strategy, known: Collection[str], *, needs_session: bool) -> None:
    """Refuse placeholders that can never be filled."""
    for name in placeholders("".join(strategy.templates)):
        if name not in known and name not in BUILT_IN_PLACEHOLDERS:
            msg = f"placeholder {{{name}}} is neither built in nor a namespace key of the memory"
            raise invalid_field("namespaceTemplates", msg)
    has_session = all("{sessionId}" in template for template in strategy.templates)
    if needs_session and strategy.extracts == "summary" and not has_session:
        msg = "a template of a summary strategy must contain {sessionId}"
        raise invalid_field("namespaceTemplates", msg)


def check_schema(strategy: Strategy, indexed: Mapping[str, str]) -> None:
    """Refuse a schema that breaks the rules of strictly consistent keys."""
    strict = [entry for entry in strategy.schema if _is_strict(entry)]
    if len(strict) > MOST_STRICT_KEYS:
        raise invalid_field("metadataSchema", f"at most {MOST_STRICT_KEYS} keys may be {STRICT}")
    if strict and strategy.extracts == "summary":
        raise invalid_field("metadataSchema", f"a summary strategy cannot have {STRICT} keys")
    for entry in strict:
        if (complaint := _strict_complaint(entry, indexed)) is not None:
            raise invalid_field("metadataSchema", f"{entry.text('key')}: {complaint}")


def _strict_complaint(entry: Params, indexed: Mapping[str, str]) -> str | None:
    if entry.text("type", "STRING") != "STRING":
        return f"a {STRICT} key must have type STRING"
    if indexed.get(entry.text("key")) != "STRING":
        return f"a {STRICT} key must be indexed as STRING"
    return f"a {STRICT} key has no extractionConfig" if "extractionConfig" in entry else None


def _is_strict(entry: Params) -> bool:
    return entry.text_or_none("extractionType") == STRICT


def _configuration(given: Params, built_in: BuiltIn) -> tuple[str, Members]:
    if "reflectionConfiguration" in given:
        reflection = given.part("reflectionConfiguration").members
        return built_in.extracts, {"reflection": {"episodicReflectionConfiguration": reflection}}
    chosen = given.part("configuration")
    for name, override in OVERRIDES.items():
        if name in chosen:
            return override.extracts, _override(override, chosen.part(name))
    if "selfManagedConfiguration" in chosen:
        return "none", _self_managed(chosen.part("selfManagedConfiguration"))
    return built_in.extracts, {}


def _override(override: Override, steps: Params) -> Members:
    shown: Members = {"type": override.shown}
    for step in steps.members:
        title = step.capitalize()
        part: Members = {f"{override.prefix}{title}Override": as_members(steps.members[step])}
        shown[step] = {f"custom{title}Configuration": part}
    return shown


def _self_managed(given: Params) -> Members:
    window = given.whole("historicalContextWindowSize", 4)
    triggers: list[Json] = [trigger.members for trigger in given.parts("triggerConditions")]
    shown: Members = {
        "triggerConditions": triggers or DEFAULT_TRIGGERS,
        "invocationConfiguration": given.part("invocationConfiguration").members,
        "historicalContextWindowSize": window,
    }
    return {"type": "SELF_MANAGED", "selfManagedConfiguration": shown}
