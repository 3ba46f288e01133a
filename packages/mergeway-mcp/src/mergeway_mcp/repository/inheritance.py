"""Settles what entities owe to each other: parents, inherited fields, references.

Entities are taken in bytewise order of their names and fields in the order declared, so that of several faults
always the same one is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .declarations import Declaration, Place
from .schema import Entity, Field, Identifier


def resolve(
    declarations: Mapping[str, Declaration], order: Mapping[str, tuple[str, ...] | None]
) -> dict[str, Entity]:
    """Complete entities with what they inherit and check what they refer to.

    Args:
        declarations: By name.
        order: Field order of each, None where a json_schema has no fields.

    Returns:
        Entities by name, in bytewise order.

    Raises:
        RepositoryError: A parent is unknown, in a cycle or contradicted; a reference is unknown; there is nowhere to
            find records.
    """
    names = sorted(declarations)
    ancestors = _ancestors(declarations, names)
    parents = {declaration.extends for declaration in declarations.values() if declaration.extends}
    descendants: dict[str, list[str]] = {}
    for name in names:
        for ancestor in ancestors[name]:
            descendants.setdefault(ancestor, []).append(name)
    entities: dict[str, Entity] = {}
    # Parents before children; the order of names decides within one level.
    for name in sorted(names, key=lambda name: (len(ancestors[name]), name)):
        entities[name] = _completed(
            declarations[name],
            entities.get(declarations[name].extends),
            order[name],
            ancestors[name],
            tuple(descendants.get(name, ())),
            is_parent=name in parents,
        )
    for name in names:
        _check_references(declarations[name], declarations)
    return {name: entities[name] for name in names}


def _ancestors(declarations: Mapping[str, Declaration], names: list[str]) -> dict[str, tuple[str, ...]]:
    chains: dict[str, tuple[str, ...]] = {}
    for name in names:
        chain: list[str] = []
        current = name
        while current not in chains:
            declaration = declarations[current]
            chain.append(current)
            parent = declaration.extends
            if not parent:
                break
            if parent not in declarations:
                raise declaration.place.fault("extends an entity that is not declared", others=(name,))
            if parent in chain:
                # The entity first in name order is where the cycle is met.
                cycle = [*chain[chain.index(parent) :], parent]
                raise declarations[name].place.fault(
                    f"entities extend each other in a circle: {' -> '.join(cycle)}", others=tuple(cycle)
                )
            current = parent
        while chain:
            current = chain.pop()
            parent = declarations[current].extends
            chains[current] = (*chains[parent], parent) if parent else ()
    return chains


def _completed(
    declaration: Declaration,
    parent: Entity | None,
    order: tuple[str, ...] | None,
    ancestors: tuple[str, ...],
    descendants: tuple[str, ...],
    *,
    is_parent: bool,
) -> Entity:
    place = declaration.place
    if is_parent and declaration.json_schema:
        raise place.fault(
            "an entity with a json_schema cannot be extended; declare fields instead", others=descendants
        )
    if not declaration.includes and not declaration.inline_data and not is_parent:
        raise place.fault("has neither include nor data, so it can hold no records")
    identifier = declaration.identifier
    fields = dict(declaration.fields)
    if parent is not None:
        identifier = _inherited_identifier(declaration, parent, identifier)
        for name in declaration.fields:
            if name in parent.fields:
                raise place.inside(name).fault("is already declared by an ancestor", others=ancestors)
        # Replies show the leaves of an entity that extends with null properties.
        fields = {
            field.name: _without_empty_properties(field)
            for field in (*parent.fields.values(), *fields.values())
        }
        order = (*(parent.field_order or ()), *(order or ())) or None
    if identifier is None:  # settled by `read_entity`: only an entity with a parent may leave it out
        raise place.fault("the identifier is missing; name the field that identifies a record, or $path")
    return Entity(
        declaration.name,
        declaration.file,
        declaration.included,
        declaration.description,
        declaration.extends,
        ancestors,
        descendants,
        identifier,
        declaration.includes,
        declaration.inline_data,
        fields,
        order,
        declaration.json_schema,
    )


def _inherited_identifier(declaration: Declaration, parent: Entity, own: Identifier | None) -> Identifier:
    if own is not None and own != parent.identifier:
        raise declaration.place.fault(
            "restates the identifier of its parent differently; make all parts equal or leave it out",
            others=(parent.name,),
        )
    return parent.identifier


def _without_empty_properties(field: Field) -> Field:
    if not field.properties:
        return field._replace(properties=None)
    return field._replace(
        properties={name: _without_empty_properties(inner) for name, inner in field.properties.items()}
    )


def _check_references(declaration: Declaration, known: Mapping[str, Declaration]) -> None:
    for field, place in _walk(declaration.fields, declaration.place):
        for reference in field.reference_types:
            if reference not in known:
                raise place.fault("refers to an entity that is not declared")


def _walk(fields: Mapping[str, Field], place: Place) -> Iterator[tuple[Field, Place]]:
    for field in fields.values():
        inner = place.inside(field.name)
        yield field, inner
        if field.properties:
            yield from _walk(field.properties, inner)
