// Looks for OAuth as hosts do, with both TypeScript clients, and prints what their users would read. Started by a Go test:
// {"URL": …, "Key": …}
import { text } from "node:stream/consumers";
import * as v1auth from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as V1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as V1Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as v2 from "@modelcontextprotocol/client";

const { URL: address, Key: key } = JSON.parse(await text(process.stdin));
const url = new URL(address);

let redirected = 0;
const provider = () => ({
  redirectUrl: "http://localhost/callback",
  clientMetadata: { redirect_uris: ["http://localhost/callback"], client_name: "test" },
  clientInformation: () => undefined,
  saveClientInformation: () => {},
  tokens: () => undefined,
  saveTokens: () => {},
  redirectToAuthorization: () => { redirected++; },
  saveCodeVerifier: () => {},
  codeVerifier: () => "verifier",
});

// flow is what a host does when it is told to sign in.
async function flow(auth) {
  try {
    return "result: " + (await auth(provider(), { serverUrl: url }));
  } catch (error) {
    return String(error);
  }
}

// connection is what a host with a provider and a configured header does: the header must do.
async function connection(Client, Transport) {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new Transport(url, { authProvider: provider(), requestInit }));
  const { tools } = await client.listTools();
  const result = await client.callTool({ name: "aanet_get_workspace", arguments: {} });
  await client.close();
  return { Tools: tools.length, IsError: result.isError === true, Text: result.content[0].text };
}

process.stdout.write(JSON.stringify({
  Flows: [await flow(v1auth.auth), await flow(v2.auth)],
  Connections: [await connection(V1, V1Transport), await connection(v2.Client, v2.StreamableHTTPClientTransport)],
  Redirected: redirected,
}));
