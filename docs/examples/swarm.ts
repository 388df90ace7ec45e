// A swarm in one file, on what Node.js 22.18 or newer has by itself: claim work with a lock, keep the lease, write with an
// etag and a fence, hand over with a message and wait for one, verify a webhook.
//
//   export AANET_URL=http://127.0.0.1:8402 AANET_KEY=aan_s…
//   node swarm.ts worker 1 2 3      do the tasks that nobody else has
//   node swarm.ts lead 3            wait until three are done
//   WEBHOOK_SECRET=whsec_… node swarm.ts receiver 8787      take webhooks behind your TLS proxy
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

type Json = Record<string, any>;

/** A refusal of the service. Decide by code; the text is for people. */
class Refusal extends Error {
  code: string;
  problem: Json;
  constructor(problem: Json) {
    super(`${problem.code}: ${problem.detail}`);
    this.code = problem.code;
    this.problem = problem;
  }
}

const base = process.env.AANET_URL ?? "http://127.0.0.1:8402";
let workspace = ""; // the key tells, see main

/** Makes a call in the workspace. A change carries an idempotency key, so that trying again cannot do it twice. */
async function call(method: string, path: string, body?: Json, signal?: AbortSignal): Promise<Json> {
  const headers: Record<string, string> = { Authorization: `Bearer ${process.env.AANET_KEY}` };
  if (body) headers["Content-Type"] = "application/json";
  if (method !== "GET") headers["Idempotency-Key"] = randomUUID();
  const address = base + path.replace("…", `/v1/workspaces/${workspace}`);
  for (let attempt = 1; ; attempt++) {
    let wait = attempt;
    try {
      const answer = await fetch(address, { method, headers, body: body && JSON.stringify(body), signal });
      const said = (await answer.json()) as Json;
      if (answer.ok) return said;
      if ((answer.status !== 429 && answer.status !== 503) || attempt === 5) throw new Refusal(said);
      wait = Number(answer.headers.get("Retry-After") ?? attempt);
    } catch (error) {
      if (error instanceof Refusal || signal?.aborted || attempt === 5) throw error; // else the answer was lost
    }
    await new Promise((resume) => setTimeout(resume, wait * 1000));
  }
}

/** Gives undefined for a refusal with this code. */
async function unless<T>(code: string, made: Promise<T>): Promise<T | undefined> {
  return made.catch((error: unknown) => {
    if (error instanceof Refusal && error.code === code) return undefined;
    throw error;
  });
}

/** Runs work while holding a lock, renewed in the background; the signal aborts when the lease is lost. Someone else's: false. */
async function holding(name: string, work: (fence: Json, signal: AbortSignal) => Promise<void>): Promise<boolean> {
  const leaseSeconds = 30;
  const lock = await unless("LOCK_HELD", call("PUT", `…/locks/${name}`, { lease_seconds: leaseSeconds }));
  if (!lock) return false;
  const lost = new AbortController();
  const timer = setInterval(() => {
    call("PATCH", `…/locks/${name}`, { lease_seconds: leaseSeconds }).catch((error: unknown) => lost.abort(error));
  }, (leaseSeconds * 1000) / 3);
  try {
    await work({ lock_name: name, fencing_token: lock.fencing_token }, lost.signal);
  } finally {
    clearInterval(timer);
    await unless("NOT_FOUND", unless("NOT_LOCK_HOLDER", call("DELETE", `…/locks/${name}`))); // a lost one is not ours to release
  }
  return true;
}

/** Changes a file that others change too: on CONFLICT it reads again and changes the new text. */
async function change(path: string, edit: (text: string) => string): Promise<void> {
  for (;;) {
    const file = await unless("NOT_FOUND", call("GET", `…/files/${path}`));
    if (!file) {
      await call("POST", `…/files/${path}`, { content: "" }); // makes it, and harms nobody who was faster
      continue;
    }
    const body = { content: edit(file.content), if_match: file.etag };
    if (await unless("CONFLICT", call("PUT", `…/files/${path}`, body))) return;
  }
}

async function worker(tasks: string[]): Promise<void> {
  for (const task of tasks) {
    await holding(`claims/${task}`, async (fence, signal) => {
      if (await unless("NOT_FOUND", call("GET", `…/files/done/${task}`))) return; // someone was here before
      const result = `result of ${task}`; // the work itself; stop it when signal aborts
      const line = `- ${task}: ${result}\n`; // whoever did half of this task before us may have written it
      await change("summary.md", (text) => (text.includes(line) ? text : text + line));
      // With the fence this is done only while the lock is ours, even if this process slept through its lease.
      if (!(await unless("STALE_FENCE", call("PUT", `…/files/done/${task}`, { content: result, ...fence }, signal)))) return;
      await call("POST", "…/messages", { topic: "done", body: task });
      console.log(`did ${task}`);
    });
  }
}

async function lead(expected: number): Promise<void> {
  for (let since: string | undefined, seen = 0; seen < expected; ) {
    const query = new URLSearchParams({ topic: "done", wait_seconds: "20", ...(since && { since }) });
    const page = await call("GET", `…/messages?${query}`); // answers as soon as there is one
    for (const message of page.result) {
      console.log(`heard of ${message.body}`);
      since = message.ts;
      seen++;
    }
  }
}

/** Tells whether a request came from AANet, not more than five minutes ago. headers have lower-case names. */
export function verify(secret: string, headers: Record<string, string | string[] | undefined>, body: Buffer, now: number): boolean {
  const timestamp = String(headers["webhook-timestamp"]);
  if (!(Math.abs(now / 1000 - Number(timestamp)) < 300)) return false;
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const signed = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${timestamp}.`), body]);
  const want = createHmac("sha256", key).update(signed).digest();
  return String(headers["webhook-signature"]).split(" ").some((given) => {
    const bytes = Buffer.from(given.replace("v1,", ""), "base64");
    return bytes.length === want.length && timingSafeEqual(bytes, want);
  });
}

function receiver(port: number): void {
  const handled = new Set<string>(); // delivery is at least once
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (!verify(process.env.WEBHOOK_SECRET ?? "", request.headers, body, Date.now())) return response.writeHead(401).end();
    const event = JSON.parse(body.toString()) as Json;
    if (!handled.has(event.id)) console.log(`received ${event.type} ${event.path ?? ""}`);
    handled.add(event.id);
    response.writeHead(204).end();
  });
  server.listen(port, "127.0.0.1", () => console.log(`receiving on ${JSON.stringify(server.address())}`));
}

const [command, ...rest] = process.argv.slice(2);
if (command === "receiver") receiver(Number(rest[0]));
else {
  workspace = (await call("GET", "/v1/balance")).workspace_id;
  await (command === "worker" ? worker(rest) : lead(Number(rest[0])));
}
