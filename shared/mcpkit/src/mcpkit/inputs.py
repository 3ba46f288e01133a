"""Argument checking: strict JSON types, unknown fields refused, schemas that every client takes.

Tools declare their arguments as an ordinary annotated signature; pydantic checks them in strict mode. Two rules differ
from its defaults: integers are what JSON Schema calls integers (`1.0` is one; `"10"`, `true` and `1.5` are not), and an
optional argument is absent, not null - the published schema never says `null`, which several clients refuse. Where a
reference accepts null all the same, mark the argument with `NullAccepted`: null is then taken as absent, and still not
advertised. Where null means something else than absence ("clear it"), declare the argument `... | None = ABSENT`, give it
a schema without a type, as `NullableBoolean` has, and take what was passed with `given`.

A parameter that must not be named like the argument, because Python keeps the word, ends in an underscore: `pass_` is
the argument `pass`.

Messages name the field and the reason and never repeat the value.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, Final, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema, create_model
from pydantic.fields import FieldInfo

from mcpkit.errors import InvalidArguments

__all__ = [
    "ABSENT",
    "ArgumentModel",
    "JsonInteger",
    "NullAccepted",
    "NullableBoolean",
    "first_fault",
    "given",
    "plain_schema",
]

_MAX_NAME = 64

_MAX_UNKNOWN: Final = 100
"""How many unknown arguments are looked at: one is told, and pydantic makes an error of each."""


class _NullAccepted:
    """Marker type of `NullAccepted`."""

    __slots__ = ()


NullAccepted: Final = _NullAccepted()
"""Put into `Annotated[...]` of an optional argument: null means absent."""


class _Absent(Enum):
    # Its value is what pydantic would publish as the default; a null default is left out of the schema.
    ABSENT = None


ABSENT: Final[Any] = _Absent.ABSENT
"""Default of an argument for which null means something: tells "left out" from "null"."""

# Some clients drop a server whose input schema names the null type, so null is offered without a type.
NullableBoolean = Annotated[bool | None, WithJsonSchema({"enum": [True, False, None]})]
"""True, false, or null for "clear it"; use with `= ABSENT`."""


def given(**arguments: Any) -> dict[str, Any]:
    """The arguments that were passed, null included: all but those that are `ABSENT`."""
    return {name: value for name, value in arguments.items() if value is not ABSENT}


def _integral(value: Any) -> Any:
    # JSON Schema 2020-12, 4.2.3: a number with a zero fractional part is an integer.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


JsonInteger = Annotated[int, BeforeValidator(_integral, json_schema_input_type=int)]
"""An integer as JSON Schema defines it."""

_REASONS: Final[Mapping[str, str]] = {
    "missing": "is required",
    "extra_forbidden": "is not an argument of this tool",
    "unexpected_keyword_argument": "is not an argument of this tool",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_unicode": "must be valid Unicode text",
}


# Pydantic leaves its own names for bounds behind a validator function, which `JsonInteger` is.
_BOUNDS: Final[Mapping[str, str]] = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}


class ArgumentModel:
    """The arguments of one tool: its published schema and its check.

    Args:
        function: the tool's function; every parameter is keyword-callable and annotated.

    Raises:
        TypeError: a parameter lacks an annotation or cannot be passed by name.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        hints = get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        nullable: set[str] = set()
        optional: set[str] = set()
        self._parameters: dict[str, str] = {}
        for parameter_name, parameter in inspect.signature(function).parameters.items():
            name = parameter_name.removesuffix("_")
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise TypeError(f"{function.__name__}: parameter {parameter_name!r} cannot be passed by name")
            if parameter_name not in hints:
                raise TypeError(f"{function.__name__}: parameter {parameter_name!r} has no annotation")
            default = ... if parameter.default is parameter.empty else parameter.default
            if any(
                isinstance(mark, _NullAccepted) for mark in getattr(hints[parameter_name], "__metadata__", ())
            ):
                nullable.add(name)
            if default is None:
                optional.add(name)
            fields[name] = (hints[parameter_name], default)
            self._parameters[name] = parameter_name
        self._nullable = frozenset(nullable)
        self._refuse_null = frozenset(optional - nullable)
        self._model: type[BaseModel] = create_model(
            f"{function.__name__}_arguments",
            __config__=ConfigDict(strict=True, extra="forbid", protected_namespaces=()),
            **fields,
        )
        self.schema: dict[str, Any] = plain_schema(self._model)

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by parameter, as Python values, absent ones left to the function's defaults.

        Raises:
            InvalidArguments: the first argument that does not fit, by field and reason.
        """
        passed = {
            name: value
            for name, value in self._few(arguments).items()
            if not (value is None and name in self._nullable)
        }
        for name in self._refuse_null:
            if name in passed and passed[name] is None:
                raise InvalidArguments(name, self._expectation(name))
        try:
            checked = self._model.model_validate(passed)
        except ValidationError as error:
            raise first_fault(error) from None
        return {
            self._parameters[name]: getattr(checked, name)
            for name in type(checked).model_fields
            if name in passed
        }

    def _few(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments without most of the unknown ones, should a client send very many."""
        known = self._model.model_fields
        if len(arguments) <= len(known) + _MAX_UNKNOWN:
            return arguments
        unknown = itertools.islice((name for name in arguments if name not in known), _MAX_UNKNOWN)
        return {name: arguments[name] for name in (*(name for name in known if name in arguments), *unknown)}

    def _expectation(self, name: str) -> str:
        kind = self.schema["properties"][name].get("type", "")
        article = "an" if kind[:1] in "aio" else "a"
        return f"must be {article} {kind} or be left out" if kind else "must not be null; leave it out"

    @property
    def fields(self) -> Mapping[str, FieldInfo]:
        """The declared arguments in order."""
        return self._model.model_fields


def first_fault(error: ValidationError) -> InvalidArguments:
    """The first fault of a pydantic validation, by field and reason and without the value."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    fault = faults[0]
    field = ".".join(_shown(part) for part in fault["loc"])
    # Pydantic's own messages state the expectation, not the input, for every type listed or used here.
    reason = _REASONS.get(fault["type"]) or _sentence(fault["msg"])
    return InvalidArguments(field, reason)


def _sentence(message: str) -> str:
    lowered = message[:1].lower() + message[1:]
    for subject in ("input ", "value ", "string ", "list ", "number "):
        lowered = lowered.removeprefix(subject)
    return lowered.replace("should ", "must ")


def _shown(part: int | str) -> str:
    """A location part fit for display: printable and short, whatever key a client sent."""
    text = "".join(char if char.isprintable() else "?" for char in str(part))
    return text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 3] + "..."


def plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON Schema without `$ref`, null alternatives, titles and null defaults."""
    raw = model.model_json_schema()
    definitions = raw.pop("$defs", {})
    schema = _plain(raw, definitions, ())
    schema.setdefault("properties", {})
    schema.pop("description", None)
    return {"type": "object", **schema, "additionalProperties": False}


def _plain(node: Any, definitions: Mapping[str, Any], trail: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions, trail) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        if name in trail:
            raise TypeError(f"recursive argument type {name!r} has no plain schema")
        target = {**definitions[name], **{key: value for key, value in node.items() if key != "$ref"}}
        return _plain(target, definitions, (*trail, name))
    if "anyOf" in node:
        rest = [item for item in node["anyOf"] if item != {"type": "null"}]
        if len(rest) == 1:
            node = {**rest[0], **{key: value for key, value in node.items() if key != "anyOf"}}
            return _plain(node, definitions, trail)
    result: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {name: _plain(item, definitions, trail) for name, item in value.items()}
        elif key == "title" or (key == "default" and value is None):
            continue
        else:
            result[_BOUNDS.get(key, key)] = _plain(value, definitions, trail)
    return result
