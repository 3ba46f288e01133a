"""The hosted workflows: pinned, least-privileged, and covering the promised systems and versions."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
LOCAL = "$/.github/workflows/"

every_workflow = pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)


def load(workflow: Path) -> dict[str, Any]:
    content = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in load(workflow)["jobs"].values():
        yield from job.get("steps", [])


@every_workflow
def test_every_action_is_pinned_by_its_full_hash_with_the_version_beside_it(workflow: Path) -> None:
    uses = re.findall(r"^\s*(?:- )?uses: (.*)$", workflow.read_text(encoding="utf-8"), re.MULTILINE)
    assert uses
    assert [u for u in uses if not PINNED.fullmatch(u) and not u.startswith(LOCAL)] == []


@every_workflow
def test_nothing_is_permitted_unless_a_job_says_so(workflow: Path) -> None:
    content = load(workflow)
    assert content["permissions"] == {}
    assert [name for name, job in content["jobs"].items() if "permissions" not in job] == []


@every_workflow
def test_every_job_has_a_time_limit(workflow: Path) -> None:
    jobs = load(workflow)["jobs"].items()
    assert [name for name, job in jobs if "uses" not in job and "timeout-minutes" not in job] == []


@every_workflow
def test_no_checkout_leaves_credentials_behind(workflow: Path) -> None:
    checkouts = [step for step in steps(workflow) if step.get("uses", "").startswith("actions/checkout@")]
    assert [step for step in checkouts if step["with"]["persist-credentials"] is not False] == []


@every_workflow
def test_no_script_contains_an_expression(workflow: Path) -> None:
    assert [step["run"] for step in steps(workflow) if "${{" in step.get("run", "")] == []


@every_workflow
def test_the_same_uv_is_pinned_as_in_dev_py(workflow: Path, script: Callable[[Path], ModuleType]) -> None:
    pinned = ".".join(map(str, script(ROOT / "dev.py").UV_PINNED))
    assert load(workflow)["env"]["UV_VERSION"] == pinned


def test_one_action_has_one_version_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for workflow in WORKFLOWS:
        for step in steps(workflow):
            name, _, revision = step.get("uses", "").partition("@")
            pins.setdefault(name, set()).add(revision)
    assert [name for name, revisions in pins.items() if len(revisions) > 1] == []


def test_the_matrix_is_every_system_python_and_resolution_that_is_promised() -> None:
    matrix = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert matrix["dependencies"] == ["locked", "lowest-direct"]
    assert set(matrix) == {"os", "python", "dependencies"}


def test_the_last_check_waits_for_every_other() -> None:
    jobs = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    assert set(jobs["done"]["needs"]) == set(jobs) - {"done"}


def test_only_the_publishing_job_can_ask_for_an_identity_and_it_runs_no_script() -> None:
    jobs = load(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job["permissions"]] == ["publish"]
    publish = jobs["publish"]
    assert publish["environment"] == "release"
    assert publish["permissions"] == {"attestations": "write", "id-token": "write"}
    assert all(
        "run" not in step and not step["uses"].startswith("actions/checkout@") for step in publish["steps"]
    )
    others = [job["permissions"] for name, job in jobs.items() if name != "publish"]
    assert others == [{"contents": "read"}] * len(others)


def test_a_release_is_checked_then_built_once_then_compared_then_published() -> None:
    jobs = load(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    needs = {name: job.get("needs") for name, job in jobs.items()}
    assert needs == {
        "verify": None,
        "ci": "verify",
        "build": ["verify", "ci"],
        "plan": "build",
        "publish": "plan",
    }
    assert (
        sum("uv build" in step.get("run", "") for job in jobs.values() for step in job.get("steps", [])) == 1
    )


def test_zizmor_finds_nothing() -> None:
    zizmor = shutil.which("zizmor", path=str(Path(sys.executable).parent))
    assert zizmor is not None
    audit = subprocess.run(
        [zizmor, "--offline", "--no-progress", "--persona=pedantic", ".github"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    assert audit.returncode == 0, audit.stdout


@pytest.mark.parametrize("name", ["dependabot.yml", "ISSUE_TEMPLATE/bug.yml", "ISSUE_TEMPLATE/config.yml"])
def test_the_other_settings_are_well_formed(name: str) -> None:
    assert isinstance(yaml.safe_load((ROOT / ".github" / name).read_text(encoding="utf-8")), dict)
