// The client of the TypeScript SDK, version 2.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { drive } from "./drive.mjs";

await drive({ Client, StdioTransport: StdioClientTransport, HttpTransport: StreamableHTTPClientTransport });
