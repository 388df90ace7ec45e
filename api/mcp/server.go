//go:build !conformance

package mcp

import sdk "github.com/modelcontextprotocol/go-sdk/mcp"

// With the build tag conformance this file is replaced by fixtures.go, whose server has what the official suite asks for
// and the service has not.

// listens tells whether anything can be subscribed to.
const listens = false

func (d *door) newServer() *sdk.Server { return d.serverOf(d.serverOptions()) }

// streamed tells whether a message is answered by events: progress is all that is ever told before a result.
func (e *envelope) streamed() bool { return e.method == "tools/call" && e.progress }
