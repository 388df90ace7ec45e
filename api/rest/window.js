// The owner's window. The key is in one variable of this function and nowhere else: it is sent as a header only, and dropped
// when the page is left. All text goes in as text. What it costs is counted from the answers.
"use strict";
(() => {
  const at = id => document.getElementById(id)
  const make = (tag, text, className) => {
    const e = document.createElement(tag)
    if (text !== undefined) e.textContent = text
    if (className) e.className = className
    return e
  }
  const row = (...cells) => {
    const tr = make("tr")
    for (const c of cells) {
      const [content, className, label] = Array.isArray(c) ? c : [c]
      const td = make("td", undefined, className)
      if (label) td.dataset.label = label
      td.append(content)
      tr.append(td)
    }
    return tr
  }
  const show = (id, on) => { at(id).hidden = !on }
  const number = n => Number(n).toLocaleString("en-US", {maximumFractionDigits: 3})
  const clock = ts => ts.slice(11, 19)
  const pauseFor = (ms, signal, take = () => {}) => new Promise(done => {
    const end = () => { clearTimeout(timer); signal.removeEventListener("abort", end); done() }
    const timer = setTimeout(end, signal.aborted ? 0 : ms)
    signal.addEventListener("abort", end)
    take(end)
  })

  const pollEvery = 2000, statsEvery = 15000, locksEvery = 5000, messagesEvery = 3000, never = 2 ** 31 - 1
  const rowsKept = 500, page = 100, piece = 65536

  let key = "", workspace = "", owner = false, stop = new AbortController(), paused = true
  let labels = new Map(), lastTime = "", lastSeq = 0, firstSeq = 0, lastEvent = "", lastMessage = "", firstMessage = "", messageSeq = 0
  let held = [], locksAfter = null, keys = [], keysShown = page, skew = 0
  let cost = 0, watched = 0, watchedFrom = 0
  let mintOnce = "", path = "", top = "", entriesAfter = null, offset = null

  let wakeLocks, wakeMessages, wakeActivity

  const who = id => id === null ? "owner" : labels.get(id) ?? id.slice(0, 8)

  // Calls

  class Refused extends Error {
    constructor(status, problem, after) {
      super(problem.detail || `The service answered ${status}.`)
      Object.assign(this, {status, code: problem.code || "", errors: problem.errors || [], after})
    }
  }

  async function send(method, address, body, headers = {}) {
    const answer = await fetch(address, {
      method, body: body && JSON.stringify(body), signal: stop.signal, cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
      headers: {Authorization: "Bearer " + key, ...(body ? {"Content-Type": "application/json"} : {}), ...headers},
    })
    spend(Number(answer.headers.get("X-AANet-Cost")))
    const date = Date.parse(answer.headers.get("Date")), left = answer.headers.get("X-AANet-Remaining-Balance")
    if (date && Math.abs(date - Date.now() - skew) > 1500) skew = date - Date.now()
    if (left !== null) balance(Number(left))
    if (answer.ok) return answer
    throw new Refused(answer.status, await answer.json().catch(() => ({})), Number(answer.headers.get("Retry-After")) || 0)
  }
  const call = async (method, rest, body, headers) => (await send(method, `/v1/workspaces/${workspace}${rest}`, body, headers)).json()
  const query = values => "?" + new URLSearchParams(Object.entries(values).filter(([, v]) => v !== null && v !== ""))

  function notice(text, kind = "warn") {
    at("notice").textContent = text
    at("notice").className = "flash " + kind
    show("notice", text !== "")
  }
  const state = (text, kind) => { at("state").textContent = text; at("state").className = "badge " + kind }

  // wrong says what went wrong, and gives the milliseconds until it is worth trying again; null: not by itself.
  function wrong(e, tries) {
    if (e.name === "AbortError") return null
    if (!(e instanceof Refused)) {
      state("no connection", "bad")
      return Math.min(1000 * 2 ** tries, 30000)
    }
    if (e.status === 401) {
      leave("This key does not work, or does not work any more. It was forgotten here.")
      return null
    }
    if (e.status === 402) {
      notice("There is no money left to watch with: " + e.message + " The free parts go on.", "bad")
      return null
    }
    if (e.status === 429 || e.status >= 500) {
      state(e.status === 429 ? "too many calls, waits" : "service is away, waits", "warn")
      return Math.max(e.after * 1000, Math.min(1000 * 2 ** tries, 30000))
    }
    notice(e.message + e.errors.map(f => ` ${f.field}: ${f.message}.`).join(""), "bad")
    return null
  }

  // keep runs work again and again, with pauses; wake ends a pause. What fails in a way that passes is tried again.
  function keep(every, work) {
    const signal = stop.signal
    let wake = () => {}, asked
    const loop = async () => {
      for (let tries = 0; !signal.aborted;) {
        let pause = every
        asked = false
        try {
          await work(signal)
          if (tries > 0 && !signal.aborted) state("live", "ok")
          tries = 0
        } catch (e) {
          pause = signal.aborted ? null : wrong(e, tries++)
          if (pause === null) return
        }
        if (!asked) await pauseFor(pause, signal, end => { wake = end })
        await pauseFor(300, signal) // what comes in a burst is looked at once
      }
    }
    loop()
    return () => { asked = true; wake() }
  }

  // once runs what a button asks for.
  const once = (id, work) => at(id).addEventListener("click", async () => {
    at(id).disabled = true
    try { await work() } catch (e) { if (wrong(e, 0) !== null) notice("That did not work: " + e.message) }
    at(id).disabled = false
  })

  // Money

  const spend = units => { at("watching").textContent = number(cost += units) }
  function rate() {
    const minutes = (watched + (paused ? 0 : Date.now() - watchedFrom)) / 60000
    at("watching-rate").textContent = minutes < 1 ? "units so far" : `units in ${number(Math.round(minutes))} min: ${number(Math.round(cost / minutes * 10) / 10)} a minute`
  }
  function balance(units) {
    at("balance").textContent = number(units)
    at("balance-usd").textContent = `units, $${(units / 100000).toFixed(5).replace(/0{1,3}$/, "")}`
  }

  async function stats() {
    rate()
    if (!owner) return
    const since = new Date(Date.now() + skew - 864e5).toISOString()
    const [forecast, sums] = await Promise.all([call("GET", "/forecast"), call("GET", "/activity/summary" + query({group_by: "subkey", since}))])
    const hour = forecast.windows.find(w => w.window === "1h")
    at("runway").textContent = hour.runway_hours === null ? "no spend" : duration(hour.runway_hours * 3600)
    at("burn").textContent = `at ${number(Math.round(hour.spend_per_hour))} units an hour`
    if (keys.length <= 500) await listKeys()
    chart(sums.result.filter(s => s.total_cost > 0).sort((a, b) => b.total_cost - a.total_cost))
  }

  function duration(seconds) {
    const days = Math.floor(seconds / 86400), hours = Math.floor(seconds / 3600), minutes = Math.floor(seconds / 60)
    if (days > 0) return days > 3650 ? "years" : `${number(days)} d ${hours % 24} h`
    return hours > 0 ? `${hours} h ${minutes % 60} min` : minutes > 0 ? `${minutes} min ${Math.floor(seconds) % 60} s` : `${Math.max(0, Math.ceil(seconds))} s`
  }

  function chart(sums) {
    const top = sums.slice(0, 10), others = sums.slice(10)
    const bars = top.map(s => [s.subkey_id === null ? "owner and webhooks" : who(s.subkey_id), s.total_cost, ` in ${number(s.calls)} calls`])
    if (others.length > 0) bars.push([`${number(others.length)} other keys`, others.reduce((sum, s) => sum + s.total_cost, 0), ""])
    const most = Math.max(...bars.map(b => b[1]))
    at("spend").replaceChildren(...bars.map(([name, units, note]) => {
      const li = make("li"), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), rect = document.createElementNS(svg.namespaceURI, "rect")
      for (const [k, v] of Object.entries({viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true"})) svg.setAttribute(k, v)
      for (const [k, v] of Object.entries({class: "fill0", width: Math.max(1, 1000 * units / most), height: 10})) rect.setAttribute(k, v)
      svg.append(rect)
      const figure = make("span", number(units), "num")
      figure.append(make("span", note, "muted"))
      li.append(make("span", name, "name"), figure, svg)
      return li
    }))
    show("no-spend", bars.length === 0)
  }

  // Activity: the log for the owner, the event feed for a sub-key

  function put(rows, older) {
    const body = at("activity")
    for (const r of rows) older ? body.append(r) : body.prepend(r)
    while (!older && body.rows.length > rowsKept) body.deleteRow(-1)
    show("no-activity", body.rows.length === 0)
    body.closest(".scroll").hidden = body.rows.length === 0
  }
  const logged = r => row([clock(r.ts), "mono"], who(r.subkey_id), r.operation.toLowerCase().replaceAll("_", " "), [r.path ?? "", "mono"],
    [number(r.cost_charged), "num", "units"], r.status === "OK" ? "ok" : make("span", r.status, "badge warn"))

  async function activity() {
    const first = lastSeq === 0
    const {result} = await call("GET", "/activity" + query({since: first ? "" : lastTime, limit: first ? page : 500}))
    const fresh = result.filter(r => r.seq > lastSeq)
    if (fresh.length === 0) return
    const oldest = fresh.at(-1).seq
    const rows = fresh.reverse().map(logged)
    if (!first && oldest > lastSeq + 1) rows.unshift(row("", "", `${number(oldest - lastSeq - 1)} rows passed too fast to show`, "", "", ""))
    if (first) firstSeq = oldest
    else rows.forEach(r => { r.className = "fresh" })
    put(rows, false)
    ;({seq: lastSeq, ts: lastTime} = fresh.at(-1))
    const did = (...operations) => fresh.some(r => r.status === "OK" && operations.includes(r.operation))
    if (!first && did("LOCK_ACQUIRE", "LOCK_RENEW", "LOCK_RELEASE", "REVOKE_SUBKEY")) wakeLocks()
    if (did("MINT_SUBKEY", "REVOKE_SUBKEY", "UPDATE_SUBKEY")) await listKeys()
    if (!first && did("SEND_MESSAGE")) wakeMessages()
  }

  async function follow() {
    const headers = {Accept: "text/event-stream", ...(lastEvent === "" ? {} : {"Last-Event-ID": lastEvent})}
    const answer = await send("GET", `/v1/workspaces/${workspace}/events`, undefined, headers)
    const minutely = Number(answer.headers.get("X-AANet-Cost"))
    const timer = setInterval(() => { spend(minutely) }, 60000)
    state("live", "ok")
    try {
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
      for (let text = ""; ;) {
        const {value, done} = await reader.read()
        if (done) return
        const events = (text + value).split("\n\n")
        text = events.pop()
        for (const e of events) arrived(Object.fromEntries(e.split("\n").map(line => [line.split(":", 1)[0], line.slice(line.indexOf(":") + 2)])))
      }
    } finally {
      clearInterval(timer)
    }
  }

  function arrived({id, event, data}) {
    if (event === "refusal") {
      const problem = JSON.parse(data)
      throw new Refused(problem.status, problem, problem.retry_after || 0)
    }
    if (id !== undefined) lastEvent = id
    if (event === undefined) return
    const e = JSON.parse(data)
    if (owner) wakeActivity()
    else put([row([clock(e.ts), "mono"], who(e.subkey_id), e.type.replaceAll("_", " "), [e.path ?? e.lock_name ?? e.topic ?? "", "mono"], ["", "num"], "ok")], false)
    if (e.type === "message") wakeMessages()
    if (e.type === "lock_available") wakeLocks()
    if (e.path !== null && (e.path === path || e.path.startsWith(path === "" ? "" : path + "/"))) show("changed", true)
  }

  // Locks

  async function locks(more) {
    const {result} = await call("GET", "/locks" + query({limit: page, after: more ? locksAfter : null}))
    held = more ? held.concat(result) : result
    locksAfter = result.length === page ? result.at(-1).name : null
    show("more-locks", locksAfter !== null)
    countdown()
  }
  function countdown() {
    const now = Date.now() + skew
    held = held.filter(l => Date.parse(l.lease_expires_at) > now)
    at("held").textContent = number(held.length) + (locksAfter === null ? "" : "+")
    at("locks").replaceChildren(...held.map(l => row([l.name, "mono"], who(l.holder_subkey_id), [duration((Date.parse(l.lease_expires_at) - now) / 1000), "num", "for"])))
    show("no-locks", held.length === 0)
    at("locks").closest(".scroll").hidden = held.length === 0
  }

  // Messages: the newest few to begin with, found by the owner's log

  async function messages() {
    if (lastMessage === "") {
      lastMessage = new Date(Date.now() + skew - (owner ? 1000 : 60000)).toISOString()
      if (owner) return earlier(20)
    }
    const {result} = await call("GET", "/messages" + query({since: lastMessage, limit: 500}))
    if (result.length === 0) return
    if (result.length === 500) wakeMessages() // there are more, after the pause
    lastMessage = result.at(-1).ts
    at("messages").prepend(...result.reverse().map(told))
    while (at("messages").children.length > rowsKept) at("messages").lastChild.remove()
    seeMessages()
  }
  async function earlier(n) {
    const {result} = await call("GET", "/activity" + query({operation: "SEND_MESSAGE", limit: n, before_seq: messageSeq || null}))
    if (result.length > 0) {
      messageSeq = result.at(-1).seq
      const before = new Date(Date.parse(result.at(-1).ts) - 1).toISOString()
      const got = (await call("GET", "/messages" + query({since: before, limit: 500}))).result.filter(m => firstMessage === "" || m.ts < firstMessage)
      if (got.length > 0) {
        if (firstMessage === "") lastMessage = got.at(-1).ts
        firstMessage = got[0].ts
        at("messages").append(...got.reverse().map(told))
      }
    }
    at("more-messages").hidden = result.length < n
    seeMessages()
  }
  function seeMessages() {
    show("messages", at("messages").children.length > 0)
    show("no-messages", at("messages").children.length === 0)
  }
  function told(m) {
    const li = make("li"), head = make("p", `${clock(m.ts)} ${who(m.from_subkey_id)} to ${m.to_subkey_id === null ? "all" : who(m.to_subkey_id)}`, "muted")
    if (m.topic !== null) head.append(" ", make("span", m.topic, "badge quiet wide"))
    li.append(head, make("p", m.body, "said"))
    return li
  }

  // Files: read when asked for only

  const address = p => "/files" + (p === "" ? "" : "/" + p.split("/").map(encodeURIComponent).join("/"))

  async function read(to, more) {
    const missing = {is_dir: true, entries: [], next_after: null, next_offset: null}
    const got = await call("GET", address(to) + query({after: more ? entriesAfter : null, offset: more ? offset : null, limit: page, max_bytes: piece})).catch(e => { if (e.status === 404) return missing; throw e })
    path = to
    at("path").textContent = "/" + path
    show("changed", false)
    show("up", path !== top)
    show("content", !got.is_dir)
    entriesAfter = got.next_after
    offset = got.next_offset
    show("more-file", entriesAfter !== null || offset !== null)
    if (!got.is_dir) {
      at("entries").replaceChildren()
      at("content").textContent = (more ? at("content").textContent : "") + got.content
      return
    }
    const items = got.entries.map(name => {
      const li = make("li"), button = make("button", name, "plain mono")
      button.addEventListener("click", () => read((path === "" ? "" : path + "/") + name.replace(/\/$/, ""), false).catch(e => wrong(e, 0)))
      li.append(button)
      return li
    })
    if (items.length === 0 && !more) items.push(make("li", "Nothing is here.", "muted"))
    more ? at("entries").append(...items) : at("entries").replaceChildren(...items)
  }

  // Keys

  async function listKeys() {
    if (!owner) return
    const {result} = await call("GET", "/subkeys")
    if (JSON.stringify(result) === JSON.stringify(keys)) return // nothing moves under the mouse
    keys = result
    labels = new Map(keys.map(k => [k.subkey_id, k.label]))
    showKeys()
  }
  function showKeys() {
    const focused = document.activeElement.ariaLabel
    at("keys").replaceChildren(...keys.slice(0, keysShown).map(k => {
      const last = k.revoked ? make("span", "revoked", "badge quiet") : make("button", "Revoke")
      last.ariaLabel = k.revoked ? null : "Revoke " + k.label
      if (!k.revoked) last.addEventListener("click", () => ask(k))
      return row(k.label, [k.path_scope_prefix ?? "all", "mono", "folder"], [number(k.spent_so_far), "num", "spent"], [k.budget_cap === null ? "none" : number(k.budget_cap), "num", "budget"],
        [k.last_used_at === null ? "never" : k.last_used_at.slice(0, 19).replace("T", " "), "mono", "last used"], last)
    }))
    if (focused) at("keys").querySelector(`[aria-label=${CSS.escape(focused)}]`)?.focus()
    show("no-keys", keys.length === 0)
    at("keys").closest(".scroll").hidden = keys.length === 0
    show("more-keys", keys.length > keysShown)
  }
  function ask(k) {
    at("confirm-text").textContent = `“${k.label}” stops working at once, for every agent that has it, and the locks that it holds are free. Files and messages stay. This cannot be undone.`
    at("confirm-yes").onclick = async () => {
      at("confirm").close()
      try {
        const {released_locks: free} = await call("DELETE", "/subkeys/" + k.subkey_id)
        notice(`“${k.label}” is revoked. ${free.length === 0 ? "It held no lock." : `Free again: ${free.join(", ")}.`}`, "ok")
        await listKeys()
        wakeLocks()
      } catch (e) { wrong(e, 0) }
    }
    at("confirm").showModal()
  }
  async function mint() {
    const units = id => at(id).value.trim() === "" ? null : /^\d{1,16}$/.test(at(id).value.trim()) ? Number(at(id).value) : at(id).value
    const body = {label: at("mint-label").value, path_scope_prefix: at("mint-scope").value || null, budget_cap: units("mint-cap"), spend_limit_per_hour: units("mint-hour")}
    mintOnce ||= crypto.getRandomValues(new Uint32Array(4)).join("-") // the same for a repeat after a lost answer
    show("mint-fault", false)
    try {
      const made = await call("POST", "/subkeys", body, {"Idempotency-Key": mintOnce})
      mintOnce = ""
      at("mint").reset()
      at("new-key").value = made.key
      show("minted", true)
      at("new-key").select()
      await listKeys()
    } catch (e) {
      if (!(e instanceof Refused) || e.status === 401) return wrong(e, 0) !== null && notice("The answer got lost. Mint again: no second key is made.")
      mintOnce = ""
      at("mint-fault").textContent = e.errors.length === 0 ? e.message : e.errors.map(f => `${f.field} ${f.message}.`).join(" ")
      show("mint-fault", true)
    }
  }
  const forgetMinted = () => { at("new-key").value = ""; show("minted", false) }

  // Coming and going

  function resume() {
    if (!paused || key === "") return
    paused = false
    watchedFrom = Date.now()
    at("pause").textContent = "Pause"
    state("opening", "quiet")
    const ticking = setInterval(() => { countdown(); rate() }, 1000)
    stop.signal.addEventListener("abort", () => clearInterval(ticking))
    if (owner) wakeActivity = keep(pollEvery, activity)
    wakeLocks = keep(never, signal => locks(false).then(() => pauseFor(locksEvery, signal)))
    wakeMessages = keep(never, signal => messages().then(() => pauseFor(messagesEvery, signal)))
    keep(statsEvery, async signal => {
      const began = Date.now()
      await stats()
      await pauseFor(20 * (Date.now() - began), signal) // sums over a great log take long
    })
    keep(1000, follow)
  }
  function rest(why) {
    if (paused) return
    paused = true
    watched += Date.now() - watchedFrom
    stop.abort()
    stop = new AbortController() // what buttons ask for goes on
    at("pause").textContent = "Go on"
    state(why, "quiet")
  }
  function leave(why) {
    rest("paused")
    key = workspace = lastEvent = lastMessage = firstMessage = lastTime = path = top = mintOnce = ""
    lastSeq = firstSeq = messageSeq = cost = watched = skew = 0
    labels = new Map(); keys = []; held = []; keysShown = page
    forgetMinted()
    for (const id of ["activity", "locks", "messages", "entries", "spend", "keys"]) at(id).replaceChildren()
    for (const id of ["content", "path", "workspace", "balance", "balance-usd", "runway", "burn"]) at(id).textContent = ""
    for (const id of ["content", "changed", "up", "more-file", "watch"]) show(id, false)
    at("title").textContent = "Your workspace"
    show("enter", true)
    notice(why)
  }

  async function enter() {
    key = at("key").value.trim()
    at("key").value = ""
    if (!/^aan_[os][0-9A-Za-z]{22}_[0-9A-Za-z]{49}$/.test(key)) {
      key = ""
      return notice("This is no key: one begins with aan_o (an owner's) or aan_s (an agent's) and has 77 characters.")
    }
    try {
      const me = await (await send("GET", "/v1/balance")).json()
      workspace = me.workspace_id
      owner = me.key.kind === "owner"
      for (const e of document.querySelectorAll(".owner")) e.hidden = !owner
      at("workspace").textContent = workspace
      at("balance-label").textContent = owner ? "Balance" : "This key can spend"
      notice("")
      if (owner) {
        await listKeys()
        const about = await call("GET", "")
        at("title").textContent = about.label
        if (about.blocked) notice("This workspace is blocked: priced calls are refused. Ask the operator.", "bad")
      } else {
        labels.set(me.key.subkey_id, me.key.label)
        at("title").textContent = me.key.label
        notice(`This is the key of an agent, “${me.key.label}”: you see what it may see${me.key.path_scope_prefix === null ? "" : `, of files and locks only those in ${me.key.path_scope_prefix}`}. The log, the keys and the spend are shown with the owner key, which begins with aan_o and was shown when the workspace was made.`)
      }
      show("enter", false)
      show("watch", true)
      resume()
      at("title").focus()
      await read(top = me.key.path_scope_prefix ?? "", false)
    } catch (e) {
      if (wrong(e, 0) !== null) notice("The service did not answer: " + e.message)
    }
  }

  const submit = (id, work) => at(id).addEventListener("submit", e => { e.preventDefault(); work() })
  submit("open", enter)
  submit("mint", mint)
  at("pause").addEventListener("click", () => paused ? resume() : rest("paused"))
  at("leave").addEventListener("click", () => leave("The key was forgotten."))
  at("minted-done").addEventListener("click", forgetMinted)
  at("confirm-no").addEventListener("click", () => at("confirm").close())
  at("more-keys").addEventListener("click", () => { keysShown += page; showKeys() })
  at("copy").addEventListener("click", async () => {
    at("new-key").select()
    at("copy").textContent = await navigator.clipboard?.writeText(at("new-key").value).then(() => "Copied", () => null) ?? "Press Ctrl+C"
    setTimeout(() => { at("copy").textContent = "Copy" }, 4000)
  })
  once("look-locks", () => locks(false))
  once("more-locks", () => locks(true))
  once("more-messages", () => earlier(page))
  once("more-activity", async () => {
    const {result} = await call("GET", "/activity" + query({before_seq: firstSeq, limit: page}))
    if (result.length > 0) firstSeq = result.at(-1).seq
    put(result.map(logged), true)
    at("more-activity").hidden = result.length < page
  })
  once("up", () => read(path.split("/").slice(0, -1).join("/"), false))
  once("reread", () => read(path, false))
  once("more-file", () => read(path, true))
  document.addEventListener("visibilitychange", () => document.hidden ? rest("rests while hidden") : at("state").textContent === "rests while hidden" && resume())
  addEventListener("pagehide", () => leave(""))
})()
