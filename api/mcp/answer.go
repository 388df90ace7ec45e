package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"aanet/api"
	"aanet/api/negotiate"
)

// answerWriter gives the SDK's plain texts the form of JSON-RPC errors, and compresses what is worth it.
type answerWriter struct {
	http.ResponseWriter
	in      *inbound
	status  int
	plain   bool // what follows is the SDK's plain text of an error
	gzips   bool // the client takes gzip
	started bool // the header is sent
	zip     *negotiate.Gzip
}

func newAnswerWriter(w http.ResponseWriter, r *http.Request, in *inbound) *answerWriter {
	return &answerWriter{
		ResponseWriter: w, in: in, status: http.StatusOK, gzips: negotiate.AcceptsGzip(r.Header.Get("Accept-Encoding")),
	}
}

// WriteHeader looks for an error in plain text. The header itself waits for the first piece of the body.
func (w *answerWriter) WriteHeader(status int) {
	w.status = status
	w.plain = status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain")
}

// start sends the header. The first piece decides whether the whole is compressed.
func (w *answerWriter) start(first int) {
	if w.started {
		return
	}
	w.started = true
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	if w.gzips && first >= negotiate.GzipLeast {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		zip := negotiate.NewGzip(w.ResponseWriter)
		w.zip = &zip
	}
	w.ResponseWriter.WriteHeader(w.status)
}

// Write passes on what the SDK writes, or puts its text into an error.
func (w *answerWriter) Write(p []byte) (int, error) {
	if w.plain {
		w.plain = false
		w.rpcError(w.status, faultOfText(strings.TrimSpace(string(p))))
		return len(p), nil
	}
	if !w.in.answered.Load() && quotesParams(p) {
		return len(p), w.writeParamsFault()
	}
	w.start(len(p))
	if w.zip != nil {
		return w.zip.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// quotesParams tells whether a piece of the SDK's own is its error about params, which shows all of them, secrets too.
func quotesParams(p []byte) bool {
	return bytes.Contains(p, []byte(`unmarshaling \"`)) && bytes.Contains(p, []byte(` into a *mcp.`))
}

// writeParamsFault says the same without the params.
func (w *answerWriter) writeParamsFault() error {
	fault := &rpcFault{codeInvalidParams, "Invalid params: they do not have the form that the protocol gives them."}
	if !w.in.streams {
		w.rpcError(http.StatusOK, fault)
		return nil
	}
	b, err := encode(w.rpcMessage(fault))
	if err == nil {
		_, err = fmt.Fprintf(w, "event: message\ndata: %s\n\n", b)
	}
	return err
}

// faultOfText is the SDK's text of an error as one of JSON-RPC.
func faultOfText(text string) *rpcFault {
	switch {
	case strings.Contains(text, "not handled"):
		return &rpcFault{codeMethodNotFound, "Method not found."}
	case strings.HasPrefix(text, "malformed payload"):
		return &rpcFault{codeInvalidRequest, "Invalid Request: the message does not have the form of JSON-RPC 2.0."}
	}
	return &rpcFault{codeInvalidRequest, text}
}

// FlushError sends what was written, as after each event of a stream.
func (w *answerWriter) FlushError() error {
	w.start(0)
	if w.zip != nil {
		if err := w.zip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// close ends the answer.
func (w *answerWriter) close() {
	w.start(0)
	if w.zip != nil {
		_ = w.zip.Close() // the client may be gone
	}
}

func (w *answerWriter) rpcError(status int, fault *rpcFault) {
	w.send(status, "application/json", w.rpcMessage(fault))
}

func (w *answerWriter) rpcMessage(fault *rpcFault) map[string]any {
	id := w.in.envelope.id
	if len(id) == 0 || !json.Valid(id) {
		id = json.RawMessage("null")
	}
	return map[string]any{"jsonrpc": "2.0", "id": id, "error": fault}
}

func (w *answerWriter) problem(refusal *api.Refusal) {
	w.send(refusal.Status(), "application/problem+json", refusal)
}

func (w *answerWriter) send(status int, contentType string, v any) {
	b, err := encode(v)
	if err != nil { // only of our own making
		status, b = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may be gone
}
