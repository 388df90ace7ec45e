// Package web is what all pages share: the one stylesheet, the headers that keep a page from loading or running anything
// foreign, the frame around every page, and numbers and times as people read them. Charts are in package chart.
//
// A page is a template that Parse joins with the frame:
//
//	{{template "top" .Page}}
//	<h1>Refunds</h1>
//	<p class="lede">What is owed, oldest first.</p>
//	<div class="flash ok" role="status">Refund paid.</div>      or class "flash bad" role="alert"
//	<div class="cards">
//	  <div class="card"><span class="label">Waiting</span><span class="figure">{{number .Waiting}}</span><span class="note">oldest {{span .Oldest}}</span></div>
//	  <a class="card" href="…">…</a>                           a card that leads somewhere
//	</div>
//	<div class="scroll" role="region" aria-label="Refunds" tabindex="0"><table>   scrolls sideways on a phone
//	  <caption>…</caption> <thead><tr><th scope="col">…  <td class="num">{{number .Units}}  <td class="mono">id
//	</table></div>
//	<table class="stack"> … <td data-label="Amount">          rows become blocks on a phone
//	<span class="badge ok|warn|bad|quiet">paid</span>
//	<dl class="facts"><div><dt>Balance</dt><dd>…</dd></div></dl>
//	<form method="post" action="…" class="fields">
//	  <p class="field"><label for="reason">Reason</label> <input id="reason" name="reason" aria-describedby="reason-hint">
//	    <span class="hint" id="reason-hint">Kept in the audit log.</span> <span class="fault" id="…">Must not be empty.</span></p>
//	  <p class="actions"><button class="primary">Pay</button> <button class="danger">Block</button> <a class="button" href="…">Cancel</a></p>
//	</form>
//	<div class="split"><section>…</section><section>…</section></div>   side by side where there is room
//	<section class="panel"> … <p class="empty">Nothing waits.</p> <nav class="pager" aria-label="Pages"><a href="…">Older</a></nav>
//	<ol class="steps"><li class="done|failed|waiting">…</ol>   <span class="muted">…  <span class="hidden">for screen readers only</span>
//	{{template "bottom" .Page}}
//
// There are no style attributes and no inline scripts: the policies below forbid both.
package web

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"path"
	"strconv"
	"strings"
)

var (
	//go:embed assets/style.css
	styleText []byte
	//go:embed assets/mark.svg
	markText []byte
)

// Style and Mark are the stylesheet and the icon of all pages. Whoever serves pages serves both.
var (
	Style = NewAsset("/assets/style.css", styleText)
	Mark  = NewAsset("/assets/mark.svg", markText)
)

// Asset is a file that pages load. Its Path holds a hash of its content, so that it may be kept for ever.
type Asset struct {
	Path  string
	Plain string // the path without the hash, for replicas of another version: see ServeHTTP
	Media string
	Body  []byte
}

var medias = map[string]string{".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".js": "text/javascript; charset=utf-8"}

// NewAsset names a file by its content. It panics when the media type of name is not known.
func NewAsset(name string, body []byte) Asset {
	ext := path.Ext(name)
	media, ok := medias[ext]
	if !ok {
		panic("no media type for " + name)
	}
	sum := sha256.Sum256(body)
	return Asset{Path: strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:8]) + ext, Plain: name, Media: media, Body: body}
}

// Is tells whether path names this asset, with the hash of this or of any other version.
func (a Asset) Is(path string) bool {
	ext := a.Plain[strings.LastIndexByte(a.Plain, '.'):]
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(a.Plain, ext)+".")
	hash, ends := strings.CutSuffix(rest, ext)
	return ok && ends && !strings.ContainsAny(hash, "/.")
}

// Kept is the Cache-Control of an answer to path. While replicas of two versions run, a page of one asks the other for
// its file: it gets the other's, and must not keep it under that name.
func (a Asset) Kept(path string) string {
	if path == a.Path {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}

// ServeHTTP answers with the file.
func (a Asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.Media)
	h.Set("Cache-Control", a.Kept(r.URL.Path))
	h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.Body) // a client that is gone needs no answer
	}
}

// Policy is what a page may do: a Content-Security-Policy with the Referrer-Policy that goes with it.
type Policy struct{ content, referrer string }

const base = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; "

// The policies, from the strictest.
var (
	// Still is for a page that only shows, or asks by GET: it loads our stylesheet and our images.
	Still = Policy{base + "form-action 'self'", "no-referrer"}
	// Forms is for a page that posts. A browser sends Origin: null from a page with no-referrer, and the check against
	// posts from other sites would refuse our own where it sends no Sec-Fetch-Site; other sites still see nothing.
	Forms = Policy{Still.content, "same-origin"}
	// Live is for a page with a script of ours that calls us. The script can write no markup.
	Live = Policy{base + "form-action 'self'; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'", "no-referrer"}
	// LiveForms is Forms with a script.
	LiveForms = Policy{Live.content, "same-origin"}
)

// Protect sets the headers of a page.
func Protect(h http.Header, p Policy) {
	h.Set("Content-Security-Policy", p.content)
	h.Set("Referrer-Policy", p.referrer)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
}
