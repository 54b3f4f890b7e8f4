"""Real MCP hosts against the real binary: each lists the tools, converts their schemas as it does for a
model, and calls a tool. No model and no network is involved.

    hosts.py BINARY FIXTURES [HOST ...]
"""

import asyncio
import json
import sys

BINARY, FIXTURES = sys.argv[1:3]
DOCUMENT = f"{FIXTURES}/quarterly.docx"
TITLE = "Quarterly figures"
TOOLS = {"probe", "probe_batch", "list_formats", "list_targets"}
PROBE = {"path": DOCUMENT, "targets": ["title"], "view": "values"}


def check_tools(names):
    missing = TOOLS - set(names)
    assert not missing, f"tools are missing: {missing}"


def check_answer(answer):
    assert TITLE in str(answer), f"the title is not in the answer: {answer!r}"


def parameters():
    from mcp import StdioServerParameters

    return StdioServerParameters(command=BINARY, args=["serve"])


async def python_sdk():
    from mcp import ClientSession
    from mcp.client.stdio import stdio_client

    async with stdio_client(parameters()) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        check_tools(tool.name for tool in tools)
        answer = await session.call_tool("probe", PROBE)
        check_answer(answer)
        convert(tools)


def convert(tools):
    """The schemas of the tools, as the model vendors' own SDKs want them."""
    for tool in tools:
        schema = getattr(tool, "input_schema", None) or tool.inputSchema
        convert_gemini(tool.name, tool.description, schema)
        convert_anthropic(tool.name, tool.description, schema)
        convert_openai(tool.name, schema)


def convert_gemini(name, description, schema):
    from google.genai import types

    declaration = types.FunctionDeclaration(
        name=name, description=description, parameters_json_schema=schema
    )
    assert declaration.parameters_json_schema["type"] == "object"
    # The older form, which knows fewer keywords and refuses unknown ones.
    typed = types.Schema.from_json_schema(json_schema=types.JSONSchema.model_validate(schema))
    assert set(typed.properties or {}) == set(schema.get("properties", {})), name


def convert_anthropic(name, description, schema):
    import anthropic.types
    from pydantic import TypeAdapter

    tool = {"name": name, "description": description, "input_schema": schema}
    TypeAdapter(anthropic.types.ToolParam).validate_python(tool)
    transform = getattr(anthropic, "transform_schema", None)
    if transform is not None:
        assert transform(schema)["type"] == "object"


def convert_openai(name, schema):
    from agents.exceptions import UserError
    from agents.strict_schema import ensure_strict_json_schema

    # OpenAI refuses a function whose parameters have none; its SDKs add them.
    plain = {"properties": {}, **schema}
    assert plain["type"] == "object", name
    try:
        strict = ensure_strict_json_schema(json.loads(json.dumps(schema)))
    except UserError:
        # The SDK then falls back to the plain schema by itself: see openai_agents.
        print(f"     note: {name} has no strict form for OpenAI")
        return
    assert strict["additionalProperties"] is False


async def fastmcp():
    from fastmcp import Client

    async with Client({"mcpServers": {"deckprobe": {"command": BINARY, "args": ["serve"]}}}) as client:
        check_tools(tool.name for tool in await client.list_tools())
        check_answer(await client.call_tool("probe", PROBE))


async def langchain():
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langchain_mcp_adapters.client import MultiServerMCPClient

    server = {"command": BINARY, "args": ["serve"], "transport": "stdio"}
    tools = await MultiServerMCPClient({"deckprobe": server}).get_tools()
    check_tools(tool.name for tool in tools)
    for tool in tools:
        assert convert_to_openai_tool(tool)["function"]["name"] == tool.name
    probe = next(tool for tool in tools if tool.name == "probe")
    check_answer(await probe.ainvoke(PROBE))


async def pydantic_ai():
    """The whole loop of an agent, with a model that calls every tool without thinking."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    seen = {}

    def model(messages, info):
        seen["tools"] = [tool.name for tool in info.function_tools]
        returned = [
            part.content
            for message in messages
            for part in message.parts
            if part.part_kind == "tool-return"
        ]
        if not returned:
            return ModelResponse(parts=[ToolCallPart("probe", PROBE)])
        seen["answer"] = returned[-1]
        return ModelResponse(parts=[TextPart("done")])

    try:
        from pydantic_ai.mcp import MCPServerStdio

        toolset = MCPServerStdio(BINARY, args=["serve"])
    except ImportError:
        from fastmcp.client.transports import StdioTransport
        from pydantic_ai.mcp import MCPToolset

        toolset = MCPToolset(StdioTransport(command=BINARY, args=["serve"]))
    agent = Agent(FunctionModel(model), toolsets=[toolset])
    await agent.run("What is the title?")
    check_tools(seen["tools"])
    check_answer(seen["answer"])


async def openai_agents():
    from agents.mcp import MCPServerStdio
    from agents.mcp.util import MCPUtil

    for strict in (False, True):
        async with MCPServerStdio({"command": BINARY, "args": ["serve"]}) as server:
            tools = await server.list_tools()
            check_tools(tool.name for tool in tools)
            functions = [MCPUtil.to_function_tool(tool, server, strict) for tool in tools]
            for function in functions:
                assert "properties" in function.params_json_schema, function.name
            if strict:
                kept = [function.name for function in functions if function.strict_json_schema]
                print(f"     strict schemas are kept for {sorted(kept)}")
            check_answer(await server.call_tool("probe", PROBE))


HOSTS = {
    "python-sdk": python_sdk,
    "fastmcp": fastmcp,
    # The adapter is kept apart in requirements-langchain.txt: it needs an older SDK.
    "langchain": langchain,
    "pydantic-ai": pydantic_ai,
    "openai-agents": openai_agents,
}


def main():
    failed = []
    for name in sys.argv[3:] or HOSTS:
        try:
            asyncio.run(asyncio.wait_for(HOSTS[name](), 60))
            print(f"ok   {name}")
        except Exception as error:  # Every host is tried, whatever the one before did.
            print(f"FAIL {name}: {type(error).__name__}: {error}")
            failed.append(name)
    sys.exit(bool(failed))


main()
