// Connects as one of the TypeScript clients, once per session it is given, lists the tools, makes the session's calls, and
// prints what came back. Started by a Go test with one JSON object at standard input:
// {"Client": "v1" | "v2-legacy" | "v2-auto" | "mcp-remote", "URL": …, "Sessions": [{"Key": …, "Calls": [{"Tool": …, "Arguments": {…}, "Progress": true}]}]}
import { text } from "node:stream/consumers";

const { Client: kind, URL: address, Sessions: sessions } = JSON.parse(await text(process.stdin));

const connect = {
  v1: async (headers) => {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    return [new Client({ name: "test", version: "1" }), new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } })];
  },
  "v2-legacy": (headers) => v2("legacy", headers),
  "v2-auto": (headers) => v2("auto", headers),
  "mcp-remote": async (headers) => { // the bridge of hosts that only start programs
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const args = ["node_modules/mcp-remote/dist/proxy.js", address, "--allow-http", "--transport", "http-only", "--silent"];
    for (const name in headers) args.push("--header", `${name}: ${headers[name]}`);
    const env = { ...process.env, MCP_REMOTE_CONFIG_DIR: "mcp-remote" };
    return [new Client({ name: "test", version: "1" }), new StdioClientTransport({ command: process.execPath, args, env, stderr: "inherit" })];
  },
}[kind];

async function v2(mode, headers) {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  return [
    new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } }),
    new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } }),
  ];
}

async function session({ Key: key, Calls: calls }) {
  const [client, transport] = await connect(key ? { Authorization: `Bearer ${key}` } : {});
  await client.connect(transport);
  const { tools } = await client.listTools(); // from here on the client checks structured content against the schemas
  const results = [];
  for (const call of calls) {
    try {
      const options = call.Progress ? { onprogress: () => {} } : {}; // with it, the answer is a stream of events
      const parameters = { name: call.Tool, arguments: call.Arguments };
      const result = await (kind.startsWith("v2") ? client.callTool(parameters, options) : client.callTool(parameters, undefined, options));
      results.push({ IsError: result.isError === true, Text: result.content[0].text });
    } catch (error) {
      results.push({ Thrown: String(error) });
    }
  }
  await client.close();
  return { Tools: tools.map((tool) => tool.name), Results: results };
}

const reports = [];
for (const s of sessions) reports.push(await session(s));
process.stdout.write(JSON.stringify(reports));
