"""The configuration of one memory, with its defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from memkit.config.duration import Duration, OrNever
from memkit.config.part import Part, Section, part_table
from memkit.config.secrets import masked
from memkit.decay import NEVER, Policy
from memkit.errors import ConfigError, InvalidInput, ScopeError
from memkit.models import Kind, Origin, Projection, Scope, Strategy
from memkit.models.item import KINDS
from memkit.ranking import DEFAULT_WEIGHTS, Weights
from memkit.registry import nearest

Positive = Annotated[int, Field(gt=0)]
Weight = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Lasting = Annotated[Duration, Field(gt=timedelta(0))]


class ScopeRules(Section):
    """Whose memory is shared with whom.

    `write` projects the scope that items are kept under, `read` lists the projections that
    recall looks at (the written one where it is left out).
    """

    write: Projection = "full"
    read: Annotated[tuple[Projection, ...], Field(min_length=1)] | None = None
    allow_unscoped: bool = False

    def home(self, scope: Scope) -> Scope:
        """The scope that items of `scope` are kept under; `ScopeError` if that names nobody."""
        home = _stated(scope).project(self.write)
        if home.is_unset and not self.allow_unscoped:
            raise ScopeError(
                f"a scope without {self.write.replace('+', ' or ')} id would be shared by "
                "everybody; state whose memory it is, or set scope.allow_unscoped"
            )
        return home

    def homes(self, scope: Scope) -> tuple[Scope, ...]:
        """The scopes that recall for `scope` looks at, each once."""
        projections = self.read or (self.write,)
        homes = dict.fromkeys(_stated(scope).project(each) for each in projections)
        known = tuple(home for home in homes if self.allow_unscoped or not home.is_unset)
        if not known:
            raise ScopeError(
                "a scope that names nobody reads nothing; state whose memory it is, "
                "or set scope.allow_unscoped"
            )
        return known


def _stated(scope: object) -> Scope:
    if not isinstance(scope, Scope):
        raise ScopeError(f"a scope must be a Scope, not {type(scope).__name__}")
    return scope


class RecordRules(Section):
    """What is kept of what was said, and how much of it.

    A message longer than `max_message_characters` is cut and flagged. Refused are a message
    of over ten times that, a call of over a hundred times that, and one of more than
    `max_messages`.
    """

    keep_tool_traffic: bool = False
    max_message_characters: Positive = 100_000
    max_messages: Positive = 10_000
    max_metadata_characters: Positive = 16_000


class InjectRules(Section):
    """How much is recalled, unless the call says otherwise."""

    limit: Annotated[int, Field(gt=0, le=1000)] = 20
    min_importance: Fraction = 0.1
    min_score: Fraction = 0.0
    token_budget: Positive = 1500
    deadline: Annotated[Lasting | None, OrNever()] = None


class RankingRules(Section):
    """What counts how much where items are ranked: see `Weights`, which was measured."""

    text: Weight = DEFAULT_WEIGHTS.text
    importance: Weight = DEFAULT_WEIGHTS.importance
    recency: Weight = DEFAULT_WEIGHTS.recency
    origin: Weight = DEFAULT_WEIGHTS.origin
    neighbor: Weight = DEFAULT_WEIGHTS.neighbor
    saturation: Weight = DEFAULT_WEIGHTS.saturation
    length: Fraction = DEFAULT_WEIGHTS.length
    duplicate: Weight = DEFAULT_WEIGHTS.duplicate

    @property
    def weights(self) -> Weights:
        """The same for ranking."""
        return Weights.of(**dict(self))


class ConsolidateRules(Section):
    """How pending episodes become items.

    `batch_tokens` bounds what one call of the extractor reads, `deadline` how long it may
    take (the `lease` must outlast it), `idle` and `max_wait` debounce scheduled runs. `context`
    settled messages and `related` items are given along. Proposals without an importance get
    `importance`; those whose origin is in `quarantine` are kept out of every answer.
    """

    batch_tokens: Positive = 4000
    idle: Duration = timedelta(minutes=5)
    max_wait: Duration = timedelta(hours=1)
    lease: Lasting = timedelta(minutes=5)
    deadline: Lasting = timedelta(minutes=4)
    max_attempts: Positive = 5
    backoff: Lasting = timedelta(seconds=30)
    max_backoff: Lasting = timedelta(hours=1)
    concurrency: Annotated[int, Field(gt=0, le=64)] = 4
    context: Annotated[int, Field(ge=0)] = 8
    related: Annotated[int, Field(ge=0, le=200)] = 20
    importance: Fraction = 0.5
    quarantine: tuple[Origin, ...] = ("tool",)

    @model_validator(mode="after")
    def _lease_outlasts_deadline(self) -> Self:
        if self.deadline >= self.lease:
            raise ConfigError("consolidate.deadline must be shorter than consolidate.lease")
        return self


class PolicyRules(Section):
    """How one kind fades, where it differs."""

    factor: float | None = None
    threshold: float | None = None


class DecayRules(Section):
    """How fast importance is lost, per day, and when something is forgotten."""

    factor: float = 0.95
    threshold: float = 0.05
    episode_ttl: Annotated[Lasting | None, OrNever()] = None
    kinds: dict[Kind, PolicyRules] = {}

    @model_validator(mode="after")
    def _policies_are_sound(self) -> Self:
        # Policy itself refuses what cannot be.
        for kind in ("semantic", *self.kinds):
            self.policy(kind)
        return self

    def policy(self, kind: Kind, *, pinned: bool = False) -> Policy:
        """The policy that items of `kind` follow."""
        if pinned:
            return NEVER
        own = self.kinds.get(kind, PolicyRules())
        factor = self.factor if own.factor is None else own.factor
        threshold = self.threshold if own.threshold is None else own.threshold
        return Policy(factor, threshold)


class StrategyRules(Section):
    """What to look for, how long to keep it, and under which names others know it."""

    type: Literal["semantic", "preference", "summary", "episodic", "procedural", "custom"]
    name: str = Field(min_length=1)
    namespaces: tuple[str, ...] = ()
    instructions: str | None = None
    ttl: Annotated[Lasting | None, OrNever()] = None

    @property
    def strategy(self) -> Strategy:
        """The same for an extractor."""
        return Strategy(
            type=self.type,
            name=self.name,
            namespaces=self.namespaces,
            instructions=self.instructions,
            ttl_days=None if self.ttl is None else self.ttl / timedelta(days=1),
        )


class SchedulerPart(Part):
    """When jobs run by themselves: at an interval, and daily at a full hour of UTC, or never."""

    consolidate_every: Annotated[Lasting | None, OrNever()] = timedelta(hours=1)
    decay_at_utc_hour: Annotated[Annotated[int, Field(ge=0, le=23)] | None, OrNever()] = 2


def _part(default: str) -> BeforeValidator:
    def write_out(value: object) -> object:
        match part_table(value):
            case Mapping() as table if "use" not in table:
                return {"use": default, **table}
            case written:
                return written

    return BeforeValidator(write_out)


class Config(Section):
    """Everything that can be configured. A bad one raises `ConfigError`, which names the key."""

    store: Annotated[Part, _part("sqlite")] = Part(use="sqlite", url="sqlite:///memory.db")
    extractor: Annotated[Part, _part("verbatim")] = Part(use="verbatim")
    scheduler: Annotated[SchedulerPart, _part("manual")] = SchedulerPart(use="manual")
    redactor: Annotated[Part, _part("patterns")] = Part(use="patterns")
    scope: ScopeRules = ScopeRules()
    record: RecordRules = RecordRules()
    inject: InjectRules = InjectRules()
    ranking: RankingRules = RankingRules()
    consolidate: ConsolidateRules = ConsolidateRules()
    decay: DecayRules = DecayRules()
    strategies: tuple[StrategyRules, ...] = ()
    language: str = "english"
    migrate: bool = True
    plugins: tuple[str, ...] = ()

    @model_validator(mode="wrap")
    @classmethod
    def _refuse_as_memkit(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(value)
        except ValidationError as exc:
            raise ConfigError("; ".join(_problems(cls, exc))) from None

    @model_validator(mode="after")
    def _kinds_are_declared(self) -> Self:
        for kind in self.decay.kinds:
            if kind not in self.kinds:
                raise ConfigError(
                    f"decay.kinds.{kind}: no kind is called {kind!r}; {nearest(kind, self.kinds)} "
                    "(a strategy of type custom declares one)"
                )
        return self

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Every kind an item may have: memkit's own, and those that strategies declare."""
        return (*KINDS, *(each.strategy.kind for each in self.strategies if each.type == "custom"))

    def declared(self, kind: Kind) -> Kind:
        """`kind`, or `InvalidInput` if nothing declares it."""
        if kind not in self.kinds:
            raise InvalidInput(
                f"no kind is called {kind!r}; there are {', '.join(self.kinds)}, and what a "
                "strategy of type custom declares"
            )
        return kind

    def ttl(self, kind: Kind) -> timedelta | None:
        """How long items of `kind` are kept at most."""
        return next((each.ttl for each in self.strategies if each.strategy.kind == kind), None)

    def masked(self) -> dict[str, object]:
        """The whole configuration as plain JSON for people to read, secrets as `***`."""
        return {name: masked(value, name) for name, value in self}


def _problems(model: type[Section], error: ValidationError) -> Iterator[str]:
    for each in error.errors(include_input=False, include_context=False, include_url=False):
        *path, last = map(str, each["loc"]) if each["loc"] else ("",)
        where = ".".join((*path, last))
        if each["type"] == "extra_forbidden":
            advice = nearest(last, _section(model, path).model_fields)
            yield f"there is no setting {where!r}; {advice}"
        else:
            yield f"{where}: {each['msg']}"


def _section(model: type[Section], path: list[str]) -> type[Section]:
    """The table that `path` leads to; steps that are names or numbers of entries are passed."""
    for step in path:
        field = model.model_fields.get(step)
        if field is not None:
            model = next(_sections_in(field.annotation), model)
    return model


def _sections_in(annotation: object) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _sections_in(argument)
