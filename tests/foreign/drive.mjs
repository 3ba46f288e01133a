// Drives an MCP client of either TypeScript SDK as a test says, and prints what the client made of it as JSON.
//
// The plan comes as JSON in the first argument:
//   command, args    how to start the server over stdio; or
//   url              where it listens
//   negotiation      optional, passed to the SDK: "legacy", "auto" or {pin: VERSION}
//   calls            [[tool, arguments], ...]
//   requests         names of further client methods to call, such as "listPrompts"
//   interrupt        a tool to call and to abort once a line comes on stdin; the next line lets the plan go on
//   hold             print the server's process id and stay connected

import { createInterface } from "node:readline";

const print = (value) => process.stdout.write(JSON.stringify(value) + "\n");

async function outcome(promise) {
  try {
    return { result: await promise };
  } catch (error) {
    return {
      error: { name: error.name, code: error.code ?? null, data: error.data ?? null, message: String(error.message) },
    };
  }
}

async function interrupted(client, tool) {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const abort = new AbortController();
  const call = outcome(client.callTool({ name: tool, arguments: {} }, ...options(client, { signal: abort.signal })));
  await lines.next();
  abort.abort();
  const seen = await call;
  await lines.next();
  process.stdin.destroy();
  return seen;
}

// SDK 1 takes a result schema before the options, SDK 2 does not.
const options = (client, value) => (client.getNegotiatedProtocolVersion ? [value] : [undefined, value]);

export async function drive({ Client, StdioTransport, HttpTransport }) {
  const plan = JSON.parse(process.argv[2]);
  const transport = plan.url
    ? new HttpTransport(new URL(plan.url))
    : new StdioTransport({ command: plan.command, args: plan.args, stderr: "inherit" });
  const negotiation = plan.negotiation ? { versionNegotiation: { mode: plan.negotiation } } : {};
  const client = new Client({ name: "foreign", version: "1.0.0" }, { capabilities: {}, ...negotiation });
  await client.connect(transport);
  if (plan.hold) {
    print({ server: transport.pid });
    return;
  }
  const seen = {
    version: client.getNegotiatedProtocolVersion?.() ?? null,
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    interrupted: plan.interrupt ? await interrupted(client, plan.interrupt) : null,
    // Listing first gives the client the output schemas that it then holds every result against.
    tools: (await client.listTools()).tools,
    calls: [],
    requests: {},
  };
  for (const [name, args] of plan.calls ?? []) {
    seen.calls.push(await outcome(client.callTool({ name, arguments: args })));
  }
  for (const method of plan.requests ?? []) {
    seen.requests[method] = await outcome(client[method]());
  }
  await client.close();
  print(seen);
}
