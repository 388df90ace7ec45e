"""A swarm in one file, on what Python 3.9 or newer has by itself: claim work with a lock, keep the lease, write with an
etag and a fence, hand over with a message and wait for one, verify a webhook.

    export AANET_URL=http://127.0.0.1:8402 AANET_KEY=aan_s…
    python3 swarm.py worker 1 2 3      do the tasks that nobody else has
    python3 swarm.py lead 3            wait until three are done
    WEBHOOK_SECRET=whsec_… python3 swarm.py receiver 8787      take webhooks behind your TLS proxy
"""
from __future__ import annotations

import base64, contextlib, hashlib, hmac, json, os, sys, threading, time, uuid
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Callable, Iterator, Optional
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

BASE = os.environ.get("AANET_URL", "http://127.0.0.1:8402")
workspace = ""  # the key tells, see main


class Refusal(Exception):
    """A refusal of the service. Decide by code; the text is for people."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(f"{problem['code']}: {problem['detail']}")
        self.code: str = problem["code"]
        self.problem = problem


def call(method: str, path: str, body: Optional[dict[str, Any]] = None) -> dict[str, Any]:
    """Makes a call in the workspace. A change carries an idempotency key: trying again cannot do it twice."""
    headers = {"Authorization": f"Bearer {os.environ['AANET_KEY']}"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if method != "GET":
        headers["Idempotency-Key"] = str(uuid.uuid4())
    data = None if body is None else json.dumps(body).encode()
    address = BASE + path.replace("…", f"/v1/workspaces/{workspace}")
    for attempt in range(1, 6):
        wait: float = attempt
        try:
            with urlopen(Request(address, data, headers, method=method), timeout=60) as answer:
                said: dict[str, Any] = json.load(answer)
                return said
        except HTTPError as error:
            problem = json.load(error)
            if error.code not in (429, 503) or attempt == 5:
                raise Refusal(problem) from None
            wait = float(error.headers.get("Retry-After", attempt))
        except (URLError, ConnectionError, TimeoutError):  # the answer was lost
            if attempt == 5:
                raise
        time.sleep(wait)
    raise AssertionError("the last attempt raises")


def unless(code: str, *request: Any) -> Optional[dict[str, Any]]:
    """Makes a call and gives None for a refusal with this code."""
    try:
        return call(*request)
    except Refusal as refusal:
        if refusal.code != code:
            raise
        return None


@contextlib.contextmanager
def holding(name: str) -> Iterator[Optional[tuple[dict[str, Any], threading.Event]]]:
    """Holds a lock, renewed in the background, and gives its fence and an event that is set when the lease is lost.
    Gives None when someone else has it."""
    lease = {"lease_seconds": 30}
    lock = unless("LOCK_HELD", "PUT", f"…/locks/{name}", lease)
    if lock is None:
        yield None
        return
    lost, over = threading.Event(), threading.Event()

    def renew() -> None:
        while not over.wait(lease["lease_seconds"] / 3):
            try:
                call("PATCH", f"…/locks/{name}", lease)
            except Exception:  # whatever it was: the lease can no longer be relied on
                lost.set()
                return

    keeper = threading.Thread(target=renew, daemon=True)
    keeper.start()
    try:
        yield {"lock_name": name, "fencing_token": lock["fencing_token"]}, lost
    finally:
        over.set()
        keeper.join()
        with contextlib.suppress(Refusal):  # a lost one is not ours to release
            call("DELETE", f"…/locks/{name}")


def change(path: str, edit: Callable[[str], str]) -> None:
    """Changes a file that others change too: on CONFLICT it reads again and changes the new text."""
    while True:
        file = unless("NOT_FOUND", "GET", f"…/files/{path}")
        if file is None:
            call("POST", f"…/files/{path}", {"content": ""})  # makes it, and harms nobody who was faster
        elif unless("CONFLICT", "PUT", f"…/files/{path}", {"content": edit(file["content"]), "if_match": file["etag"]}):
            return


def worker(tasks: list[str]) -> None:
    for task in tasks:
        with holding(f"claims/{task}") as held:
            if held is None or unless("NOT_FOUND", "GET", f"…/files/done/{task}"):
                continue  # someone has it, or was here before
            fence, _lost = held
            result = f"result of {task}"  # the work itself; stop it when _lost is set
            line = f"- {task}: {result}\n"  # whoever did half of this task before us may have written it
            change("summary.md", lambda text: text if line in text else text + line)
            # With the fence this is done only while the lock is ours, even if this process slept through its lease.
            if unless("STALE_FENCE", "PUT", f"…/files/done/{task}", {"content": result, **fence}) is None:
                continue
            call("POST", "…/messages", {"topic": "done", "body": task})
            print(f"did {task}", flush=True)


def lead(expected: int) -> None:
    query, seen = {"topic": "done", "wait_seconds": "20"}, 0
    while seen < expected:
        for message in call("GET", f"…/messages?{urlencode(query)}")["result"]:  # answers as soon as there is one
            print(f"heard of {message['body']}", flush=True)
            query["since"] = message["ts"]
            seen += 1


def verify(secret: str, headers: Message, body: bytes, now: float) -> bool:
    """Tells whether a request came from AANet, not more than five minutes ago."""
    ident, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdigit() or abs(now - int(timestamp)) > 300:
        return False
    key = base64.b64decode(secret[len("whsec_"):])
    signature = hmac.new(key, f"{ident}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    want = "v1," + base64.b64encode(signature).decode()
    return any(hmac.compare_digest(given, want) for given in headers.get("webhook-signature", "").split(" "))


class Receiver(BaseHTTPRequestHandler):
    handled: set[str] = set()  # delivery is at least once

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        known = verify(os.environ["WEBHOOK_SECRET"], self.headers, body, time.time())
        event = json.loads(body) if known else {}
        if known and event["id"] not in self.handled:
            self.handled.add(event["id"])
            print(f"received {event['type']} {event.get('path', '')}", flush=True)
        self.send_response(204 if known else 401)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "receiver":
        server = HTTPServer(("127.0.0.1", int(arguments[0])), Receiver)
        print(f"receiving on {json.dumps({'port': server.server_port})}", flush=True)
        server.serve_forever()
    workspace = call("GET", "/v1/balance")["workspace_id"]
    worker(arguments) if command == "worker" else lead(int(arguments[0]))
