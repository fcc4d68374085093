"""A part as the configuration names it: which one, and its own settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from memkit.contracts import Clock
from memkit.registry import Options


class Section(BaseModel):
    """A table of the configuration. Frozen; unknown keys are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False
    )


class Part(Section):
    """Which part to use, and its own settings, which only the part itself understands.

    Written as a name (`"verbatim"`), a URL (`"sqlite:///memory.db"`) or a table with `use` or
    `url`. Never shown with its settings: they may hold secrets.
    """

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)

    use: str = Field(min_length=1)
    url: str | None = None

    def __repr_args__(self) -> Iterator[tuple[str | None, object]]:
        yield "use", self.use

    def options(self, clock: Clock) -> Options:
        """What its factory is given."""
        return Options(use=self.use, url=self.url, settings=dict(self.settings), clock=clock)

    @property
    def settings(self) -> Mapping[str, object]:
        """Its own settings: every key that memkit has no word for."""
        return self.model_extra or {}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        table = handler.resolve_ref_schema(handler(schema))
        # `use` may be left out where a URL says it, or a default stands.
        table.pop("required", None)
        return {"anyOf": [{"type": "string"}, table]}


def part_table(value: object) -> object:
    """A part's shorthand written out: a name or URL as a table, a `Part` as what it states."""
    match value:
        case str() if "://" in value:
            return {"use": value.partition("://")[0], "url": value}
        case str():
            return {"use": value}
        case Part():
            # A default that nobody stated would go before what somebody did.
            return {name: each for name, each in value if name in value.model_fields_set}
        case {"url": str() as url, **rest} if "use" not in rest:
            return {"use": url.partition("://")[0], "url": url, **rest}
        case _:
            return value
