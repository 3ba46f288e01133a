"""Evaluates queries: section 2 of RFC 9535, every visit paid for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from .budget import Budget
from .iregexp import Expressions
from .syntax import (
    Both,
    Call,
    Comparison,
    Either,
    Expression,
    Filter,
    Index,
    Name,
    Negation,
    Operand,
    Query,
    Segment,
    Selection,
    Slice,
    Wildcard,
)


class _Nothing:
    """The value of a query that selects no node."""

    __slots__ = ()


_NOTHING: Final = _Nothing()
# Comparing and measuring long strings costs like visiting this many characters a node.
_CHARACTERS_A_VISIT: Final = 256


def evaluate(query: Query, document: Any, budget: Budget) -> list[Any]:
    """The values a query selects, in document order.

    Raises:
        SelectorFault: The budget is spent.
    """
    return _Evaluation(document, budget).nodes(query, document)


class _Evaluation:
    def __init__(self, root: Any, budget: Budget) -> None:
        self._root = root
        self._spend = budget.spend
        self._expressions = Expressions(budget)

    def nodes(self, query: Query, current: Any) -> list[Any]:
        values = [current if query.relative else self._root]
        for segment in query.segments:
            values = self._step(segment, values)
        return values

    def _step(self, segment: Segment, values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in self._descendants(values) if segment.descendant else values:
            for selection in segment.selections:
                self._select(selection, value, found)
        return found

    def _descendants(self, values: list[Any]) -> Iterable[Any]:
        """Every value and what is below it, each before its children."""
        pending = list(reversed(values))
        while pending:
            value = pending.pop()
            self._spend(1)
            yield value
            if value.__class__ is dict:
                pending.extend(reversed(value.values()))
            elif value.__class__ is list:
                pending.extend(reversed(value))

    def _select(self, selection: Selection, value: Any, found: list[Any]) -> None:
        self._spend(1)
        if isinstance(selection, Name):
            if value.__class__ is dict and selection.name in value:
                found.append(value[selection.name])
        elif isinstance(selection, Index):
            if value.__class__ is list and -len(value) <= selection.position < len(value):
                found.append(value[selection.position])
        elif isinstance(selection, Slice):
            if value.__class__ is list and selection.step != 0:
                chosen = value[_slice(selection)]
                self._spend(len(chosen))
                found.extend(chosen)
        elif isinstance(selection, Wildcard):
            children = _children(value)
            self._spend(len(children))
            found.extend(children)
        else:
            found.extend(self._filtered(selection, value))

    def _filtered(self, selection: Filter, value: Any) -> list[Any]:
        children = _children(value)
        self._spend(len(children))
        return [child for child in children if self._holds(selection.expression, child)]

    def _holds(self, expression: Expression, current: Any) -> bool:
        if isinstance(expression, Comparison):
            left, right = self._value(expression.left, current), self._value(expression.right, current)
            return self._compare(expression.operator, left, right)
        if isinstance(expression, Query):
            return bool(self.nodes(expression, current))
        if isinstance(expression, Negation):
            return not self._holds(expression.part, current)
        if isinstance(expression, Both):
            return all(self._holds(part, current) for part in expression.parts)
        if isinstance(expression, Either):
            return any(self._holds(part, current) for part in expression.parts)
        return self._call(expression, current) is True

    def _value(self, operand: Operand, current: Any) -> Any:
        if isinstance(operand, Query):
            nodes = self.nodes(operand, current)
            return nodes[0] if len(nodes) == 1 else _NOTHING
        if isinstance(operand, Call):
            return self._call(operand, current)
        return operand.value

    def _call(self, call: Call, current: Any) -> Any:
        self._spend(1)
        first = call.arguments[0]
        if call.name in {"count", "value"} and isinstance(first, Query):
            nodes = self.nodes(first, current)
            if call.name == "count":
                return len(nodes)
            return nodes[0] if len(nodes) == 1 else _NOTHING
        subject = self._value(first, current)
        if call.name == "length":
            return len(subject) if isinstance(subject, str | list | dict) else _NOTHING
        pattern = self._value(call.arguments[1], current)
        if not isinstance(subject, str) or not isinstance(pattern, str):
            return False
        return self._expressions.matches(pattern, subject, whole=call.name == "match")

    def _compare(self, operator: str, left: Any, right: Any) -> bool:
        if operator == "==":
            return self._equal(left, right)
        if operator == "!=":
            return not self._equal(left, right)
        if operator in {"<", "<="}:
            return self._less(left, right) or (operator == "<=" and self._equal(left, right))
        return self._less(right, left) or (operator == ">=" and self._equal(left, right))

    def _less(self, left: Any, right: Any) -> bool:
        if isinstance(left, str) and isinstance(right, str):
            self._spend(min(len(left), len(right)) // _CHARACTERS_A_VISIT)
            return left < right
        return _is_number(left) and _is_number(right) and bool(left < right)

    def _equal(self, left: Any, right: Any) -> bool:
        pending = [(left, right)]
        while pending:
            left, right = pending.pop()
            self._spend(1)
            if _is_number(left) and _is_number(right):
                if left != right:
                    return False
            elif left.__class__ is not right.__class__:
                return False
            elif left.__class__ is list:
                if len(left) != len(right):
                    return False
                pending.extend(zip(left, right, strict=True))
            elif left.__class__ is dict:
                if left.keys() != right.keys():
                    return False
                pending.extend((value, right[key]) for key, value in left.items())
            else:
                if left.__class__ is str:
                    self._spend(len(left) // _CHARACTERS_A_VISIT)
                if left != right:
                    return False
        return True


def _children(value: Any) -> list[Any]:
    if value.__class__ is list:
        return value
    return list(value.values()) if value.__class__ is dict else []


def _is_number(value: Any) -> bool:
    return value.__class__ is int or value.__class__ is float


def _slice(selection: Slice) -> slice:
    return slice(selection.start, selection.end, selection.step)
