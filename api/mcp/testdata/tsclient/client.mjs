// Lists the tools and makes the calls it is given, and prints what came back. Started by a Go test:
// node client.mjs URL KEY '[{"Tool": …, "Arguments": {…}}]'
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, key, calls] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
const headers = key ? { Authorization: `Bearer ${key}` } : {};
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
const { tools } = await client.listTools(); // from here on the client checks structured content against the schemas
const results = [];
for (const call of JSON.parse(calls)) {
  try {
    const result = await client.callTool({ name: call.Tool, arguments: call.Arguments });
    results.push({ Tool: call.Tool, IsError: result.isError === true, Text: result.content[0].text });
  } catch (error) {
    results.push({ Tool: call.Tool, Thrown: String(error) });
  }
}
await client.close();
console.log(JSON.stringify({ Tools: tools.map((tool) => tool.name), Results: results }));
