"""Where this machine has a Chromium or Chrome."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

__all__ = ["arguments", "find_browser"]

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PLACES: Final = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
)


def find_browser() -> str | None:
    """The program, CHROME before anything else; None where there is none."""
    named = os.environ.get("CHROME")
    if named:
        return shutil.which(named)
    on_path = (shutil.which(name) for name in _NAMES)
    return next((found for found in (*on_path, *_PLACES) if found and Path(found).is_file()), None)


def arguments() -> list[str]:
    """What it needs to start here: its sandbox refuses to run as root."""
    return ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
