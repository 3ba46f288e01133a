"""One file for newcomers: with Python 3.11+, pip and git it gets uv and runs the project's chores.

    python3 dev.py tour            what an agent asks each server, and what it gets
    python3 dev.py test [ARGS]     every test with the coverage gate; with ARGS, pytest with those
    python3 dev.py check           lint, format and types
    python3 dev.py build [ARGS]    wheel and sdist of every package, into dist/
    python3 dev.py uv ARGS         uv itself, wherever it was found

Whoever has uv can say `uv run docs/tour.py` and `uv run pytest` instead. Standard library only.
"""

import os
import re
import shutil
import subprocess
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an older interpreter has to get this far to be told
    sys.exit("dev.py needs Python 3.11 or newer and this is {}.{}".format(*sys.version_info))

from pathlib import Path

ROOT = Path(__file__).resolve().parent
UV_HOME = ROOT / ".uv"
UV_PINNED = (0, 13, 9)
UV_MINIMUM = (0, 9)  # [tool.uv] required-version in pyproject.toml
UV = "uv=={}.{}.{}".format(*UV_PINNED)
COVERAGE = ["--cov", "--cov-report=term", "--cov-fail-under=95"]
HELP = f"""dev.py: uv could not be installed with this Python's pip or venv. Get {UV} as
https://docs.astral.sh/uv/getting-started/installation/ says, or give this Python pip and venv
(Debian and Ubuntu: apt install python3-pip python3-venv), and try again."""


def version_of(uv: Path | str) -> tuple[int, ...]:
    """The version that a uv executable reports; empty where it does not run."""
    try:
        answer = subprocess.run([uv, "--version"], capture_output=True, check=False).stdout
    except OSError:
        return ()
    return tuple(map(int, re.findall(rb"\d+", answer)[:3])) if answer.startswith(b"uv ") else ()


def installed_uv() -> Path | None:
    """The pinned uv that an earlier run left in .uv/."""
    return next((uv for uv in UV_HOME.glob("*/uv*") if version_of(uv) == UV_PINNED), None)


def install_uv() -> Path | None:
    """Puts the pinned uv into .uv/; `--target` is allowed on externally managed Pythons."""
    print(f"dev.py: installing {UV} into .uv/", file=sys.stderr)
    install = ["-m", "pip", "install", "--quiet", "--upgrade", UV]
    python = str(UV_HOME / ("Scripts" if os.name == "nt" else "bin") / "python")
    attempts = [
        [[sys.executable, *install, "--target", str(UV_HOME)]],  # or, without a pip that can do this:
        [[sys.executable, "-m", "venv", "--clear", str(UV_HOME)], [python, *install]],
    ]
    return installed_uv() if any(map(all_succeed, attempts)) else None


def all_succeed(commands: list[list[str]], env: dict[str, str] | None = None) -> bool:
    """Runs commands in the project's root until one fails; what they say goes where ours goes."""
    return all(subprocess.run(c, cwd=ROOT, env=env, check=False).returncode == 0 for c in commands)


def chores(extra: list[str]) -> dict[str, list[list[str]]]:
    """What uv is told for each chore, in order."""
    # One mypy run a member, from its folder: there each conftest.py has a name of its own.
    members = sorted(str(p.parent) for kind in ("shared", "packages") for p in ROOT.glob(kind + "/*/src"))
    mypy = ["mypy", "--config-file", str(ROOT / "pyproject.toml")]
    rest = [*mypy, "dev.py", ".github/release", "tests", *map(str, ROOT.glob("docs/*.py"))]
    types = [rest, *(["--directory", member, *mypy, "."] for member in members)]
    checks = [["ruff", "check"], ["ruff", "format", "--check"], *types]
    run = ["run", "--locked"]
    return {
        "tour": [[*run, "docs/tour.py", *extra]],
        "test": [[*run, "pytest", *(extra or COVERAGE)]],
        "check": [[*run, *check] for check in checks],
        "build": [["build", "--all-packages", *extra]],
        "uv": [extra],
    }


def main(chore: str = "", *extra: str) -> int | str:
    todo = chores(list(extra)).get(chore)
    if todo is None:
        return __doc__
    on_path = shutil.which("uv") or ""
    uv = on_path if version_of(on_path) >= UV_MINIMUM else installed_uv() or install_uv()
    if not uv:
        return HELP
    # An open() without encoding is a bug on Windows: pytest makes this warning an error.
    env = os.environ | ({"PYTHONWARNDEFAULTENCODING": "1"} if chore == "test" else {})
    if not (ROOT / ".venv").exists():  # the interpreter that runs this will do: uv need not find one
        env.setdefault("UV_PYTHON", sys.executable)
    return 0 if all_succeed([[str(uv), *arguments] for arguments in todo], env) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
