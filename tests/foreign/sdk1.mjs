// The client of the TypeScript SDK, version 1.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { drive } from "./drive.mjs";

await drive({ Client, StdioTransport: StdioClientTransport, HttpTransport: StreamableHTTPClientTransport });
