"""Generates the record repositories that benchmarks measure: the same bytes for the same numbers, every time.

Half of the files are YAML, half JSON. Each record has an unquoted date (in YAML), a quoted date, a quoted number and
nesting; one YAML file in fifty, so 1 % of all files, shares a block between its records through an anchor.

    uv run tests/benchmarks/records.py FOLDER [--records 10000] [--files 1000]
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any, Final, NamedTuple

SEED: Final = 20260131
#: Every how many YAML files one uses anchors: half of the files are YAML, so 1 % of all do.
ANCHORED_EVERY: Final = 50
FILES_A_FOLDER: Final = 100

CONFIGURATION: Final = """\
mergeway:
  version: 1
entities:
  Shipment:
    description: A parcel on its way
    identifier: code
    include:
      - records/*/*.yaml
      - records/*/*.json
    fields:
      code: {type: string, required: true}
      sent: string
      due: string
      house: string
      weight_kg: number
      pieces: integer
      insured: boolean
      note: string
      labels: {type: string, repeated: true}
      route:
        type: object
        properties:
          origin: string
          target: string
          stops:
            type: object
            repeated: true
            properties: {place: string, minutes: integer}
      handling:
        type: object
        properties: {fragile: boolean, keep_cold: boolean}
"""

_PLACES: Final = (
    "Aalborg",
    "Bergen",
    "Cádiz",
    "Durrës",
    "Esbjerg",
    "Fécamp",
    "Gdańsk",
    "Hull",
    "Izmir",
    "Jakobstad",
)
_WORDS: Final = ("glass", "letters", "spare", "tools", "books", "seeds", "lamps", "rope", "paper", "cloth")


class Generated(NamedTuple):
    """A repository that was written.

    Attributes:
        root: Its folder.
        files: Record files in the order written.
        records: Number of records.
        some_ids: Identifiers of records spread over the files.
    """

    root: Path
    files: tuple[Path, ...]
    records: int
    some_ids: tuple[str, ...]


def generate(root: Path, *, records: int, files: int) -> Generated:
    """Write a repository into a folder that is made if need be.

    Args:
        root: Folder.
        records: How many records in all.
        files: Over how many files they are spread, as evenly as they go.
    """
    chooser = random.Random(SEED)
    root.mkdir(parents=True, exist_ok=True)
    (root / "mergeway.yaml").write_text(CONFIGURATION, encoding="utf-8", newline="\n")
    written: list[Path] = []
    ids: list[str] = []
    number = 0
    for position in range(files):
        count = (records * (position + 1)) // files - (records * position) // files
        batch = [_record(chooser, number + offset) for offset in range(count)]
        number += count
        folder = root / "records" / f"{position // FILES_A_FOLDER:04}"
        folder.mkdir(parents=True, exist_ok=True)
        as_yaml = position % 2 == 0
        anchored = as_yaml and (position // 2) % ANCHORED_EVERY == 0
        path = folder / f"batch-{position:06}.{'yaml' if as_yaml else 'json'}"
        text = _yaml(batch, anchored=anchored) if as_yaml else _json(batch)
        path.write_text(text, encoding="utf-8", newline="\n")
        written.append(path)
        if batch:
            ids.append(batch[-1]["code"])
    return Generated(root, tuple(written), number, tuple(ids))


def _record(chooser: random.Random, number: int) -> dict[str, Any]:
    origin, target = chooser.sample(_PLACES, 2)
    return {
        "code": f"S-{number:08}",
        "sent": f"{2020 + number % 6}-{1 + number % 12:02}-{1 + number % 28:02}",
        "due": f"{2021 + number % 6}-{1 + number % 12:02}-{1 + number % 28:02}",
        "house": f"{number % 1000:04}",
        "weight_kg": round(chooser.uniform(0.1, 80.0), 2),
        "pieces": chooser.randrange(1, 40),
        "insured": chooser.random() < 0.5,
        "note": " ".join(chooser.choices(_WORDS, k=chooser.randrange(3, 9))),
        "labels": chooser.sample(_WORDS, 3),
        "route": {
            "origin": origin,
            "target": target,
            "stops": [
                {"place": place, "minutes": chooser.randrange(5, 600)}
                for place in chooser.sample(_PLACES, chooser.randrange(1, 3))
            ],
        },
        "handling": {"fragile": number % 3 == 0, "keep_cold": number % 5 == 0},
    }


def _json(batch: list[dict[str, Any]]) -> str:
    return json.dumps({"items": batch}, ensure_ascii=False, indent=1) + "\n"


def _yaml(batch: list[dict[str, Any]], *, anchored: bool) -> str:
    lines = ["type: Shipment", "items:" if batch else "items: []"]
    for position, record in enumerate(batch):
        route = record["route"]
        handling = record["handling"]
        lines += [
            f"  - code: {record['code']}",
            f"    sent: {record['sent']}",
            f"    due: '{record['due']}'",
            f'    house: "{record["house"]}"',
            f"    weight_kg: {record['weight_kg']}",
            f"    pieces: {record['pieces']}",
            f"    insured: {str(record['insured']).lower()}",
            f"    note: {record['note']}",
            f"    labels: [{', '.join(record['labels'])}]",
            "    route:",
            f"      origin: {route['origin']}",
            f"      target: {route['target']}",
            "      stops:",
        ]
        for stop in route["stops"]:
            lines += [f"        - place: {stop['place']}", f"          minutes: {stop['minutes']}"]
        if anchored and position:
            lines.append("    handling: *handling")
        else:
            lines += [
                "    handling: &handling" if anchored else "    handling:",
                f"      fragile: {str(handling['fragile']).lower()}",
                f"      keep_cold: {str(handling['keep_cold']).lower()}",
            ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write a repository from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=1_000)
    arguments = parser.parse_args()
    made = generate(arguments.folder, records=arguments.records, files=arguments.files)
    print(f"{made.records} records in {len(made.files)} files below {made.root}")


if __name__ == "__main__":
    main()
