"""`mg stack wait` and `mg stack watch`: lines to the letter, one document, exit codes, and how a watch is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from mergestorm_mcp.runtime import Runtime

ID = "1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01"
HEAD = "0000000b" * 5
RED = f'MS-WATCH ATTENTION pr=11 head={HEAD} blocker="CI failed — style" repair=ci_failure'
Exchange = Callable[..., dict[str, Any]]


@pytest.fixture
def showing(service: Any) -> Callable[..., Any]:
    """Plays a service whose stack is this and whose queue is empty."""

    def playing(stack: Any, status: int = 200, **queue: Any) -> Any:
        script = service.play(routes=[])
        script.asked = []

        def told(request: dict[str, Any]) -> Any:
            script.asked.append(request["path"])
            if request["path"].endswith("/queue"):
                return {"status": 200, "body": {"entries": [], **queue}, "headers": {}}
            listed = {"stacks": [stack] if stack is not None else []}
            return {"status": status, "body": listed, "headers": {}}

        script.answer = told
        return script

    return playing


@pytest.mark.anyio
async def test_attention_is_one_line_and_exit_3(mg: Any, showing: Any, red_stack: Any) -> None:
    showing(red_stack)
    ran = await mg("stack", "watch", ID.upper())
    assert (ran.code, ran.out, ran.err) == (3, f"{RED}\n", "")


@pytest.mark.anyio
async def test_with_json_the_lines_go_to_stderr_and_the_envelope_is_the_document(
    mg: Any, showing: Any, red_stack: Any
) -> None:
    showing(red_stack)
    ran = await mg("stack", "watch", ID, "--json")
    assert (ran.code, ran.err) == (3, f"{RED}\n")
    assert (ran.document["status"], ran.document["schema"]) == ("attention", "mergestorm.stack_watch/v1")


@pytest.mark.anyio
async def test_a_landed_stack_is_exit_0(mg: Any, showing: Any, red_stack: Any) -> None:
    showing({**red_stack, "layers": [{**red_stack["layers"][0], "state": "merged"}]})
    ran = await mg("stack", "watch", ID)
    assert (ran.code, ran.out.splitlines()[0]) == (0, f"MS-WATCH LANDED stack={ID} reason=landed")


@pytest.mark.anyio
async def test_a_stack_that_is_gone_is_exit_3(mg: Any, showing: Any) -> None:
    showing(None, landed=None)
    ran = await mg("stack", "watch", ID)
    assert (ran.code, ran.out.splitlines()[0]) == (3, f"MS-WATCH ATTENTION stack={ID} reason=not_found")


@pytest.mark.anyio
async def test_a_watch_whose_time_is_up_is_exit_5(mg: Any, showing: Any, green_stack: Any) -> None:
    showing(green_stack)
    ran = await mg("stack", "watch", ID, "--max", "0.5", "--json")
    assert (ran.code, ran.err) == (5, f"MS-WATCH TIMEOUT stack={ID} after=0.5m\n")
    assert ran.document == {"stackId": ID, "outcome": "timeout"}


@pytest.mark.anyio
async def test_an_ignored_attention_is_passed_over(mg: Any, showing: Any, red_stack: Any) -> None:
    showing(red_stack)
    ran = await mg("stack", "watch", ID, "--ignore", "ci failed", "--max", "2")
    assert (ran.code, ran.out) == (5, f"MS-WATCH TIMEOUT stack={ID} after=2m\n")


@pytest.mark.anyio
async def test_a_wait_that_finds_attention_is_exit_0(mg: Any, showing: Any, red_stack: Any) -> None:
    showing(red_stack)
    ran = await mg("stack", "wait", ID, "--timeout", "0")
    assert ran.code == 0
    assert ran.out.startswith(f"stack {ID} · attention · blocked: #11 CI failed — style")


@pytest.mark.anyio
@pytest.mark.parametrize(("status", "code"), [(429, 7), (403, 1)])
async def test_a_wait_that_cannot_read_says_so(
    mg: Any, showing: Any, green_stack: Any, status: int, code: int
) -> None:
    showing(green_stack, status=status)
    ran = await mg("stack", "wait", ID, "--timeout", "0", "--json")
    assert (ran.code, ran.document["assessment"]) == (code, "unavailable")
    assert ran.document["error"]["message"]


@pytest.mark.anyio
async def test_a_wait_whose_time_is_up_is_exit_5_with_the_envelope(
    mg: Any, showing: Any, green_stack: Any
) -> None:
    showing(green_stack)
    ran = await mg("stack", "wait", ID, "--timeout", "10", "--json")
    assert (ran.code, ran.document["status"]) == (5, "waiting")


@pytest.mark.anyio
async def test_a_wait_that_read_nothing_before_its_end_is_a_failure(
    mg: Any, raw_service: Any, runtime: Runtime
) -> None:
    async def silent(_stream: Any, _number: int) -> None:
        await anyio.sleep_forever()

    async with raw_service(silent) as deaf:
        variables = {**runtime.environment.variables, "MERGESTORM_API_URL": deaf.base}
        runtime.environment = replace(runtime.environment, variables=variables)
        ran = await mg("stack", "wait", ID, "--timeout", "0.2", "--json")
    assert (ran.code, ran.document["status"], ran.document["assessment"]) == (1, "failed", "unavailable")


@pytest.mark.anyio
async def test_a_terminal_sees_a_live_line_on_stderr_only(mg: Any, showing: Any, green_stack: Any) -> None:
    showing(green_stack)
    ran = await mg("stack", "wait", ID, "--timeout", "10", tty=True)
    assert ID in ran.err
    assert ran.out == f"stack {ID} · waiting\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot send SIGINT or SIGTERM to one child")
@pytest.mark.parametrize(
    ("name", "shell"),
    [
        ("SIGINT", []),
        ("SIGTERM", []),
        # As a shell starts it in the background: with SIGINT ignored.
        ("SIGTERM", ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]),
    ],
)
@pytest.mark.anyio
async def test_a_stopped_watch_is_exit_130_without_a_line_and_with_a_document(
    name: str, shell: list[str], showing: Any, green_stack: Any, service: Any, folders: dict[str, str]
) -> None:
    script = showing(green_stack)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MERGESTORM_")}
    variables = {
        "HOME": folders["home"],
        "MERGESTORM_API_URL": service.base,
        "MERGESTORM_API_KEY": "msk_live_x_0123",
    }
    command = [*shell, sys.executable, "-m", "mergestorm_mcp.mg.main", "stack", "watch", ID, "--json"]
    child = subprocess.Popen(  # noqa: ASYNC220 - starting takes no time; what is waited for is the watch
        command,
        env={**kept, **variables},
        cwd=folders["work"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        with anyio.fail_after(60):
            while len(script.asked) < 2:  # the watch is under way
                assert child.poll() is None
                await anyio.sleep(0.02)
        child.send_signal(getattr(signal, name))
        out, err = await anyio.to_thread.run_sync(lambda: child.communicate(timeout=60))
    finally:
        child.kill()
        child.wait()
    assert (child.returncode, err) == (130, "")
    assert json.loads(out) == {"stackId": ID, "outcome": "aborted"}
