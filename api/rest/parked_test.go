package rest

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"aanet/api"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// TestPanicsOfParkedCalls has a call that cannot look: the client gets INTERNAL and the process lives.
func TestPanicsOfParkedCalls(t *testing.T) {
	var log strings.Builder
	d := &door{
		Options: Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Metrics: api.NewMetrics(prometheus.NewRegistry()), Parking: NewParking(time.Now)},
		echo:    echo.New(),
	}
	d.echo.HTTPErrorHandler = d.fail
	ours, theirs := net.Pipe()
	defer theirs.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	d.Parking.enter()
	p := &parked{door: d, conn: ours, request: request, op: api.OperationNamed("get_messages"), header: http.Header{}, timer: prometheus.NewTimer(nil)}
	go p.look()
	answer, err := http.ReadResponse(bufio.NewReader(theirs), request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusInternalServerError || !strings.Contains(string(body), `"INTERNAL"`) || !answer.Close {
		t.Errorf("%s, %v: %s", answer.Status, err, body)
	}
	if err := d.Parking.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "panic") {
		t.Errorf("the log says %q", log.String())
	}
}
