package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// answerLimit is the most that is read of an answer, in bytes: a thousand signatures of Solana are 300 kB.
	answerLimit       = 4 << 20
	answerHeaderLimit = 64 << 10
	idleConnections   = 4
	idleTimeout       = time.Minute
)

// node is one JSON-RPC endpoint. Reading twice does no harm, so connections are kept.
type node struct {
	url     string
	client  *http.Client
	timeout time.Duration
	lastID  atomic.Uint64
}

func newNode(address string, timeout time.Duration) (*node, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("must be an absolute http or https URL") // err would repeat the URL
	}
	if timeout <= 0 {
		timeout = requestTimeout
	}
	dialer := &net.Dialer{Timeout: timeout}
	return &node{url: address, timeout: timeout, client: &http.Client{
		// No proxy: the environment must not decide whom evidence about money is read from. No redirect: the key in the
		// URL is for this host.
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: timeout, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: answerHeaderLimit,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// refusal is an error that the node itself answered with.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error gives the number only: nodes repeat keys in their messages, and this goes to logs.
func (r *refusal) Error() string { return fmt.Sprintf("the node refused with code %d", r.Code) }

// ask calls a method. into gets the result; a result of null leaves it as it is and found is false.
func (n *node) ask(ctx context.Context, into any, method string, params ...any) (found bool, err error) {
	result, err := n.post(ctx, method, params)
	if err != nil {
		return false, fmt.Errorf("%s: %w", method, err)
	}
	if string(result) == "null" {
		return false, nil
	}
	if err := json.Unmarshal(result, into); err != nil {
		return false, fmt.Errorf("%s: %w", method, errNonsense)
	}
	return true, nil
}

// need is ask for methods that always have a result.
func (n *node) need(ctx context.Context, into any, method string, params ...any) error {
	found, err := n.ask(ctx, into, method, params...)
	if err == nil && !found {
		err = fmt.Errorf("%s: %w", method, errNonsense)
	}
	return err
}

var errNonsense = errors.New("an answer that makes no sense")

func (n *node) post(ctx context.Context, method string, params []any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	if params == nil {
		params = []any{}
	}
	id := n.lastID.Add(1)
	question, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return nil, fmt.Errorf("encode the question: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(question))
	if err != nil {
		return nil, errors.New("the URL of the node cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := n.client.Do(request)
	if err != nil {
		return nil, plain(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit+1))
	switch {
	case err != nil:
		return nil, plain(err)
	case len(body) > answerLimit:
		return nil, errors.New("the answer is over 4 MiB")
	}
	return readAnswer(response.StatusCode, body, id)
}

// readAnswer takes a refusal for one whatever the HTTP status: nodes disagree about it.
func readAnswer(status int, body []byte, id uint64) (json.RawMessage, error) {
	var answer struct {
		ID     *uint64         `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *refusal        `json:"error"`
	}
	err := json.Unmarshal(body, &answer)
	switch {
	case err == nil && answer.Error != nil:
		return nil, answer.Error
	case status != http.StatusOK:
		return nil, fmt.Errorf("HTTP %d", status)
	case err != nil || answer.ID == nil || *answer.ID != id || len(answer.Result) == 0:
		return nil, errNonsense
	}
	return answer.Result, nil
}

// plain says why there was no answer, without the URL that the standard library's errors repeat.
func plain(err error) error {
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("given up: %w", context.Canceled)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)
	case strings.Contains(err.Error(), "certificate"), strings.Contains(err.Error(), "tls:"):
		return errors.New("no trusted TLS connection")
	}
	return errors.New("cannot be reached, or the connection broke")
}
