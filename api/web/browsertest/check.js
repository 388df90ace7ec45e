(scope => { // a selector of the part of the page that is looked at; "": all of it
  const seen = e => e.checkVisibility({visibilityProperty: true})
  const within = e => !scope || e.closest(scope) !== null
  const all = selector => [...document.querySelectorAll(selector)].filter(e => seen(e) && within(e))
  const show = e => {
    const text = (e.innerText || e.value || "").trim().replace(/\s+/g, " ").slice(0, 40)
    return `<${e.tagName.toLowerCase()}${e.id ? " #" + e.id : ""}${e.className && e.className.baseVal === undefined ? " ." + e.className : ""}> "${text}"`
  }
  const byIds = ids => (ids || "").split(/\s+/).map(id => document.getElementById(id)?.textContent || "").join(" ").trim()
  const name = e => (e.getAttribute("aria-label") || byIds(e.getAttribute("aria-labelledby")) || [...(e.labels || [])].map(l => l.innerText).join(" ") ||
    e.getAttribute("alt") || e.querySelector?.(":scope > title")?.textContent || "").trim()
  const content = e => [...e.childNodes].map(n => n.nodeType === 3 ? n.data : n.nodeType !== 1 || n.ariaHidden === "true" ? "" : name(n) || content(n)).join(" ").trim()
  const fields = "input:not([type=hidden]):not([type=submit]):not([type=button]), select, textarea"
  const stops = () => all("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]").filter(e => {
    if (e.disabled || e.tabIndex < 0) return false
    if (e.type !== "radio") return true
    const group = [...document.querySelectorAll("input[type=radio]")].filter(r => r.name === e.name && r.form === e.form)
    return e === (group.find(r => r.checked) || group[0])
  })

  const whole = () => {
    const faults = [], root = document.documentElement
    if (!root.lang) faults.push("no lang")
    if (!document.title.trim()) faults.push("no title")
    if (!document.querySelector("main")) faults.push("no main")
    if (document.querySelectorAll("h1").length !== 1) faults.push(`${document.querySelectorAll("h1").length} h1`)
    const width = root.clientWidth // innerWidth grows with what is too wide for a phone
    if (root.scrollWidth > width) {
      const wide = all("body *").filter(e => e.getBoundingClientRect().right > width + 1 && !e.closest(".scroll, pre, svg"))
      faults.push(`${root.scrollWidth - width} px too wide: ${wide.slice(0, 3).map(show).join(", ")}`)
    }
    return faults
  }
  const structure = () => {
    const faults = scope ? [] : whole()
    let level = 0
    for (const h of all("h1, h2, h3, h4, h5, h6")) {
      if (+h.tagName[1] > level + 1) faults.push(`after h${level} comes ${show(h)}`)
      if (!content(h)) faults.push(`an empty heading ${show(h)}`)
      level = +h.tagName[1]
    }
    for (const e of all(fields)) if (!name(e)) faults.push(`no label: ${show(e)} ${e.name}`)
    for (const e of all("a[href], button, summary, [role=region], [role=dialog], dialog, input[type=submit]")) {
      if (!name(e) && !(e.matches("a, button, summary") && content(e)) && !e.value) faults.push(`no name: ${show(e)}`)
    }
    for (const e of all("img, svg")) {
      if (e.closest("[aria-hidden=true]") || e.tagName === "IMG" && e.hasAttribute("alt")) continue
      if (e.getAttribute("role") !== "img" || !name(e)) faults.push(`an image without a name: ${e.outerHTML.slice(0, 80)}`)
    }
    const ids = new Set()
    for (const e of document.querySelectorAll("[id]")) {
      if (ids.has(e.id) && within(e)) faults.push(`two elements with the id ${e.id}`)
      ids.add(e.id)
    }
    for (const e of document.querySelectorAll("[for], [aria-describedby], [aria-labelledby], [aria-controls]")) {
      if (!within(e)) continue
      for (const a of ["for", "aria-describedby", "aria-labelledby", "aria-controls"]) {
        for (const id of (e.getAttribute(a) || "").split(/\s+/).filter(Boolean)) if (!ids.has(id)) faults.push(`${a} names ${id}, which is not there`)
      }
    }
    for (const e of all("table")) if (!e.querySelector("th")) faults.push(`a table without headings: ${show(e)}`)
    for (const e of document.querySelectorAll("[style], style, script:not([src])")) if (within(e)) faults.push(`inline: ${e.outerHTML.slice(0, 80)}`)
    return faults
  }

  const brush = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true})
  const painted = new Map()
  // colour gives red, green, blue (0 to 255) and alpha (0 to 1), in whatever space the colour is written.
  const colour = text => {
    const m = text.match(/^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/)
    if (m) return [+m[1], +m[2], +m[3], m[4] === undefined ? 1 : +m[4]]
    if (!painted.has(text)) {
      brush.clearRect(0, 0, 1, 1)
      brush.fillStyle = text
      brush.fillRect(0, 0, 1, 1)
      const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data
      painted.set(text, [r, g, b, a / 255])
    }
    return [...painted.get(text)]
  }
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1)
  const light = c => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => {
    const v = c[i] / 255
    return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  }, 0)
  const ground = e => {
    const layers = []
    for (let at = e; at; at = at.parentElement) {
      const c = colour(getComputedStyle(at).backgroundColor)
      if (c[3] > 0) layers.push(c)
      if (c[3] === 1) break
    }
    return layers.reverse().reduce((under, c) => over(c, under), matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1])
  }
  const contrast = () => {
    const faults = new Map(), done = new Map()
    const look = (e, text, pseudo) => {
      const style = getComputedStyle(e, pseudo), front = colour(style.color), behind = ground(e)
      for (let at = e; at; at = at.parentElement) front[3] *= +getComputedStyle(at).opacity
      const a = light(over(front, behind)), b = light(behind), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
      if (ratio < 4.5) faults.set(`${style.color} ${behind}`, `contrast ${ratio.toFixed(2)}:1 of ${style.color} on rgb(${behind.slice(0, 3).map(Math.round)}): ${show(e)} ${text.slice(0, 40)}`)
    }
    const texts = document.createTreeWalker(scope ? document.querySelector(scope) : document.body, NodeFilter.SHOW_TEXT)
    for (let n = texts.nextNode(); n; n = texts.nextNode()) {
      const e = n.parentElement
      if (!n.data.trim() || done.has(e) || !seen(e) || e.closest("svg, script, option, :disabled")) continue
      done.set(e, true)
      const box = e.getBoundingClientRect()
      if (box.width > 1 && box.height > 1) look(e, n.data.trim())
    }
    for (const e of all(fields)) {
      if (e.disabled) continue
      look(e, e.value || "")
      if (e.placeholder) look(e, e.placeholder, "::placeholder")
    }
    return [...faults.values()]
  }

  const beginWalk = () => {
    const list = stops()
    const walk = window.focusWalk = {list, visited: new Set(), last: -1, faults: [], through: false}
    document.body.tabIndex = -1
    document.body.focus()
    document.body.removeAttribute("tabindex")
    for (const e of list) if (e.tabIndex > 0) walk.faults.push(`tabindex ${e.tabIndex}: ${show(e)}`)
    walk.step = event => step(walk, event.target)
    document.addEventListener("focusin", walk.step)
    return list.length
  }
  const showsFocus = e => {
    const style = getComputedStyle(e)
    return style.boxShadow !== "none" || style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1
  }
  // step looks at where the focus came to.
  const step = (walk, e) => {
    const at = walk.list.indexOf(e)
    if (walk.through || walk.visited.has(at)) { // it came round by the browser's own controls
      walk.through = true
      return
    }
    if (within(e) && !showsFocus(e)) walk.faults.push(`does not show the focus: ${show(e)}`)
    if (at < 0) return // such as an area that scrolls
    if (at < walk.last) walk.faults.push(`out of order: ${show(e)} after ${show(walk.list[walk.last])}`)
    walk.visited.add(at)
    walk.last = at
  }
  const endWalk = most => {
    const walk = window.focusWalk
    document.removeEventListener("focusin", walk.step)
    walk.list.slice(0, most).forEach((e, i) => {
      if (!walk.visited.has(i) && e.isConnected && seen(e) && !e.disabled) walk.faults.push(`not reached by the keyboard: ${show(e)}`)
    })
    document.activeElement?.blur()
    return walk.faults
  }
  return {structure, contrast, beginWalk, endWalk}
})
