"""A FastMCP server that offers one of everything the conformance suite asks for, under the names the suite uses.

It knows nothing of mcpkit, so that it can stand behind mcpkit's HTTP and behind FastMCP's own (`serve.py`) and the
suite can say whether anything is lost between the two. The names, texts and schemas are what the suite looks for. The
tasks extension is left out: it is not part of what a revision requires.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any, Literal

import mcp_types as wire
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts import Message
from fastmcp.tools import Tool, ToolResult
from fastmcp.utilities.types import Audio, Image
from mcp import MCPError
from pydantic import BaseModel


def png() -> bytes:
    """The smallest picture: one red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def wav() -> bytes:
    """The shortest sound: one silent sample, mono, 8 kHz."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 16000, 2, 16)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", 2) + b"\x00\x00"
    return struct.pack("<4sI", b"RIFF", len(body)) + body


app: FastMCP[Any] = FastMCP("everything", version="1.0.0", dereference_schemas=False)


# --- tools: every kind of content ---------------------------------------------------------------------------------


@app.tool
async def test_simple_text() -> str:
    """One text."""
    return "This is a simple text response for testing."


@app.tool
async def test_image_content() -> Image:
    """One picture."""
    return Image(data=png(), format="png")


@app.tool
async def test_audio_content() -> Audio:
    """One sound."""
    return Audio(data=wav(), format="wav")


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> wire.EmbeddedResource:
    return wire.EmbeddedResource(
        resource=wire.TextResourceContents(uri=uri, text=text, mime_type=mime_type), type="resource"
    )


@app.tool
async def test_embedded_resource() -> ToolResult:
    """One resource inside the result."""
    return ToolResult(content=[embedded("test://embedded-resource", "This is an embedded resource.")])


@app.tool
async def test_multiple_content_types() -> ToolResult:
    """A text, a picture and a resource."""
    picture = wire.ImageContent(
        type="image", data=base64.b64encode(png()).decode("ascii"), mime_type="image/png"
    )
    resource = embedded(
        "test://mixed-content-resource", json.dumps({"test": "data", "value": 123}), "application/json"
    )
    text = wire.TextContent(type="text", text="Multiple content types test:")
    return ToolResult(content=[text, picture, resource])


@app.tool
async def test_error_handling() -> str:
    """Fails, always."""
    raise ToolError("This tool intentionally returns an error for testing")


# --- tools that talk to the client while they run -----------------------------------------------------------------


@app.tool
async def test_tool_with_logging(ctx: Context) -> str:
    """Logs three times."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(text)
    return "logged"


@app.tool
async def test_logging_tool(ctx: Context) -> str:
    """Logs, whether or not the client asked for it."""
    await ctx.info("This is for clients that set a level.")
    return "logged"


@app.tool
async def test_tool_with_progress(ctx: Context) -> str:
    """Reports progress three times."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100)
    return "done"


@app.tool
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Asks the client's model."""
    request = prompt_for_model(prompt, 100).params
    answer = await ctx.session.create_message(
        request.messages, max_tokens=request.max_tokens, related_request_id=ctx.request_id
    )
    return f"LLM response from {answer.model}"


class Person(BaseModel):
    username: str
    email: str


@app.tool
async def test_elicitation(message: str, ctx: Context) -> str:
    """Asks the client's user."""
    answer = await ctx.elicit(message, Person)
    return f"User response: {answer.action}"


class Profile(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


@app.tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Asks with a default for every primitive type."""
    answer = await ctx.elicit("Check the profile.", Profile)
    return f"Elicitation completed: action={answer.action}"


def titled(kind: str, count: int = 3) -> list[dict[str, str]]:
    ordinals = ("First", "Second", "Third")
    return [{"const": f"value{n}", "title": f"{ordinals[n - 1]} {kind}"} for n in range(1, count + 1)]


CHOICES = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array",
            "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
        },
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    },
}


@app.tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Asks with every form of an enumeration."""
    answer = await ctx.session.elicit("Choose.", CHOICES, related_request_id=ctx.request_id)
    return f"Elicitation completed: action={answer.action}"


# --- tools that return to the client for input (2026-07-28) -------------------------------------------------------


def question(message: str, field: str, kind: str = "string") -> wire.ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return wire.ElicitRequest(params=wire.ElicitRequestFormParams(message=message, requested_schema=schema))


def prompt_for_model(text: str, max_tokens: int) -> wire.CreateMessageRequest:
    message = wire.SamplingMessage(role="user", content=wire.TextContent(type="text", text=text))
    return wire.CreateMessageRequest(
        params=wire.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


def ask(state: str | None = None, **requests: wire.InputRequest) -> wire.InputRequiredResult:
    return wire.InputRequiredResult(input_requests=requests, request_state=state)


def answered(ctx: Context, key: str, kind: type[Any] = wire.ElicitResult) -> Any:
    """The client's answer under a key, None where there is none of that kind."""
    answer = (ctx.input_responses or {}).get(key)
    return answer if isinstance(answer, kind) else None


@app.tool
async def test_input_required_result_elicitation(ctx: Context) -> str | wire.InputRequiredResult:
    """Needs a name."""
    answer = answered(ctx, "user_name")
    if answer is None:
        return ask(user_name=question("What is your name?", "name"))
    return f"Hello, {(answer.content or {}).get('name')}!"


@app.tool
async def test_input_required_result_sampling(ctx: Context) -> str | wire.InputRequiredResult:
    """Needs an answer of the client's model."""
    answer = answered(ctx, "capital_question", wire.CreateMessageResult)
    if answer is None:
        return ask(capital_question=prompt_for_model("What is the capital of France?", 100))
    return "The model has answered."


@app.tool
async def test_input_required_result_list_roots(ctx: Context) -> str | wire.InputRequiredResult:
    """Needs the client's roots."""
    answer = answered(ctx, "client_roots", wire.ListRootsResult)
    if answer is None:
        return ask(client_roots=wire.ListRootsRequest())
    return f"Roots: {', '.join(str(root.uri) for root in answer.roots)}"


@app.tool
async def test_input_required_result_request_state(ctx: Context) -> str | wire.InputRequiredResult:
    """Needs a confirmation and its own state back."""
    if answered(ctx, "confirm") is None or ctx.request_state != "asked":
        return ask("asked", confirm=question("Please confirm", "ok", "boolean"))
    return "state-ok"


@app.tool
async def test_input_required_result_tampered_state(ctx: Context) -> str | wire.InputRequiredResult:
    """Needs its own state back unchanged; FastMCP seals it."""
    if answered(ctx, "confirm") is None or ctx.request_state is None:
        return ask("untouched", confirm=question("Please confirm", "ok", "boolean"))
    return f"state {ctx.request_state}"


@app.tool
async def test_input_required_result_multiple_inputs(ctx: Context) -> str | wire.InputRequiredResult:
    """Needs three things of three kinds."""
    kinds = {
        "user_name": wire.ElicitResult,
        "greeting": wire.CreateMessageResult,
        "client_roots": wire.ListRootsResult,
    }
    if any(answered(ctx, key, kind) is None for key, kind in kinds.items()):
        return ask(
            "three",
            user_name=question("What is your name?", "name"),
            greeting=prompt_for_model("Generate a greeting", 50),
            client_roots=wire.ListRootsRequest(),
        )
    return "all there"


@app.tool
async def test_input_required_result_multi_round(ctx: Context) -> str | wire.InputRequiredResult:
    """Needs two things, one after the other."""
    if ctx.request_state == "second" and answered(ctx, "step2") is not None:
        return "both there"
    if ctx.request_state == "first" and answered(ctx, "step1") is not None:
        return ask("second", step2=question("Step 2: What is your favorite color?", "color"))
    return ask("first", step1=question("Step 1: What is your name?", "name"))


@app.tool
async def test_input_required_result_capabilities(ctx: Context) -> str | wire.InputRequiredResult:
    """Needs whatever the client can give."""
    if ctx.input_responses:
        return "there"
    has = ctx.session.client_capabilities or wire.ClientCapabilities()
    if has.elicitation is not None:
        return ask(user_name=question("What is your name?", "name"))
    if has.sampling is not None:
        return ask(greeting=prompt_for_model("Generate a greeting", 50))
    return "the client can give nothing"


@app.tool
async def test_missing_capability() -> str:
    """Cannot work without a capability that the client did not declare."""
    needed = wire.ClientCapabilities(sampling=wire.SamplingCapability())
    data = wire.MissingRequiredClientCapabilityErrorData(required_capabilities=needed)
    raise MCPError(
        code=-32021,
        message="sampling is needed",
        data=data.model_dump(by_alias=True, mode="json", exclude_none=True),
    )


@app.tool
async def test_streaming_elicitation(ctx: Context) -> str | wire.InputRequiredResult:
    """Needs a name, and must not ask for it with a request of its own."""
    return await test_input_required_result_elicitation(ctx)


# --- tools with schemas of their own ------------------------------------------------------------------------------


class Fixed(Tool):
    """A tool whose schema is listed as it is written here."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content=json.dumps(arguments, sort_keys=True))


app.add_tool(
    Fixed(
        name="json_schema_2020_12_tool",
        description="Tool with JSON Schema 2020-12 features",
        parameters={
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                }
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": False,
        },
    )
)
app.add_tool(
    Fixed(
        name="test_custom_headers",
        description="Mirrors an argument in a header.",
        parameters={
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            "required": ["region"],
        },
    )
)


# --- resources, prompts, completion -------------------------------------------------------------------------------


@app.resource("test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@app.resource("test://static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    """A picture."""
    return png()


@app.resource("test://watched-resource", mime_type="text/plain")
async def watched_resource() -> str:
    """A text that could be watched."""
    return "Nothing has happened."


@app.resource("test://template/{id}/data", mime_type="application/json")
async def template(id: str) -> str:  # noqa: A002 - the name in the URI
    """A text for every id."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@app.prompt
async def test_simple_prompt() -> str:
    """One message."""
    return "This is a simple prompt for testing."


@app.prompt
async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """One message with two arguments in it."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@app.prompt
async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:
    """A message that holds a resource."""
    return [
        Message(embedded(resourceUri, "Embedded resource content for testing.")),
        Message("Please process the embedded resource above."),
    ]


@app.prompt
async def test_prompt_with_image() -> list[Message]:
    """A message that holds a picture."""
    picture = wire.ImageContent(
        type="image", data=base64.b64encode(png()).decode("ascii"), mime_type="image/png"
    )
    return [Message(picture), Message("Please analyze the image above.")]


@app.prompt
async def test_input_required_result_prompt(ctx: Context) -> str | wire.InputRequiredResult:
    """Needs a context."""
    answer = answered(ctx, "user_context")
    if answer is None:
        return ask(user_context=question("What context should the prompt use?", "context"))
    return f"The context is {(answer.content or {}).get('context')}."


@app.completion
async def complete(_reference: Any, argument: wire.CompletionArgument, _context: Any) -> list[str]:
    return [word for word in ("paris", "park", "party") if word.startswith(argument.value)]
