"""Count how often each token of the default model occurs in documentation, and write the packed table.

Run by hand when the preparation of texts changes:

    python packages/ragit-mcp/tests/embedding/build_wordllama_frequencies.py SITE_PACKAGES... [--write]

The text counted is the README that each installed distribution carries in its metadata, of distributions under the MIT,
BSD, ISC, Apache, PSF or Unlicense terms only. Nothing of the text is kept: one number a token is. The table in use comes
from 162 distributions (250,837 tokens).
"""

from __future__ import annotations

import argparse
import email
import hashlib
import re
import sys
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from ragit_mcp.embedding.local.plain_words import plain_words
from ragit_mcp.embedding.providers.wordllama import FREQUENCIES_FILE, package_file

PERMISSIVE = re.compile(
    r"\b(MIT|BSD|ISC|Apache|PSF|Python Software Foundation|Unlicense|0BSD)\b", re.IGNORECASE
)
RECIPROCAL = re.compile(r"\b(A|L)?GPL|GNU|Mozilla|MPL|EUPL|CC-BY-SA", re.IGNORECASE)
STEPS_PER_OCTAVE = 8
#: One large README must not set the frequencies.
MAX_CHARACTERS = 40_000


def readmes(places: list[Path]) -> dict[str, str]:
    found: dict[str, str] = {}
    for place in places:
        for path in sorted(place.glob("*.dist-info/METADATA")):
            message = email.message_from_string(path.read_text(encoding="utf-8", errors="replace"))
            terms = [message.get("License-Expression", ""), message.get("License", "")[:100]]
            terms += [value for value in message.get_all("Classifier", []) if value.startswith("License")]
            licence = " ".join(terms)
            text = str(message.get_payload() or message.get("Description", ""))
            if len(text) > 300 and PERMISSIVE.search(licence) and not RECIPROCAL.search(licence):
                found.setdefault(str(message["Name"]).lower(), text[:MAX_CHARACTERS])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    texts = readmes(arguments.places)
    tokenizer = Tokenizer.from_file(package_file("tokenizers/l2_supercat_tokenizer_config.json"))
    counts = np.full(tokenizer.get_vocab_size(), 0.5)
    for encoded in tokenizer.encode_batch(
        [plain_words(text) for text in texts.values()], add_special_tokens=False
    ):
        np.add.at(counts, encoded.ids, 1)
    packed = (
        np
        .clip(np.round(-np.log2(counts / counts.sum()) * STEPS_PER_OCTAVE), 0, 255)
        .astype(np.uint8)
        .tobytes()
    )
    names = hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()[:8]
    sys.stdout.write(
        f"{len(texts)} distributions ({names}), {counts.sum():.0f} tokens, {hashlib.sha256(packed).hexdigest()}\n"
    )
    if arguments.write:
        Path(FREQUENCIES_FILE).write_bytes(packed)


if __name__ == "__main__":
    main()
