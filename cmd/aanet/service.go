package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"aanet/api"
	"aanet/api/mcp"
	"aanet/api/rest"
	"aanet/billing/chain"
	"aanet/billing/deposits"
	"aanet/billing/x402"
	"aanet/store"
	"aanet/store/jobs"
	"aanet/webhooks"
)

// version is what this build calls itself towards clients.
const version = "0.1.0"

// Bounds of the HTTP servers. Bodies are bounded by size in the doors; these bound idleness.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	headerBytesMax = 64 << 10         // the doors refuse above 16 KiB with a problem object; beyond this net/http does
	drainTimeout   = 20 * time.Second // for calls under way
	closeTimeout   = 8 * time.Second  // for the rest, whatever time the calls took; in all less than the usual 30 s
	poolSize       = 8
)

// Main is the running service. Tests start it as the command does.
type Main struct {
	config          Config
	log             *slog.Logger
	registry        *prometheus.Registry
	store           *store.Store
	jobs            *jobs.Jobs
	jobPages        jobPages
	guard           *webhooks.Guard
	sealer          *webhooks.Sealer
	webhooks        *webhooks.Engine
	gateway         *x402.Gateway
	deposits        *deposits.Engine
	chains          *chain.Chains
	server          *http.Server
	metrics         *http.Server
	listener        net.Listener
	metricsListener net.Listener
	stopping        chan struct{}
	service         *api.Service
	minutes         *api.Minutes
	parking         *rest.Parking
	endMinutes      func() // writes the last one down
	stopNotifier    func()
}

// NewMain opens the listeners, the lanes and the doors; nothing is served before Run.
func NewMain(ctx context.Context, config Config, log *slog.Logger) (*Main, error) {
	m := &Main{config: config, log: log, registry: prometheus.NewRegistry(), stopping: make(chan struct{})}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	var err error
	m.store, err = store.Open(ctx, store.Options{
		URL: config.DatabaseURL.Reveal(), Lanes: int(config.Lanes), PoolSize: poolSize, Registerer: m.registry,
		RefusalRate: config.RateLimits.RefusalRowsRate, RefusalBurst: config.RateLimits.RefusalRowsBurst,
	})
	if err != nil {
		return nil, err
	}
	if err := m.listen(); err != nil {
		return nil, errors.Join(err, m.store.Close(ctx))
	}
	if err := m.prepare(); err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	return m, nil
}

// prepare makes what serves calls.
func (m *Main) prepare() error {
	if err := m.prepareWebhooks(); err != nil {
		return err
	}
	if err := m.preparePayments(); err != nil {
		return err
	}
	fees, err := refundFees(m.config)
	if err != nil {
		return err
	}
	publicURL := string(m.config.PublicURL)
	if publicURL == "" {
		publicURL = m.URL()
	}
	m.service = api.NewService(m.store, api.Config{
		TrialTTL: time.Duration(m.config.TrialTTL), PublicURL: publicURL, Limits: api.Limits(m.config.RateLimits),
		Webhooks: api.WebhookConfig{Guard: m.guard, Sealer: m.sealer},
		Deposits: m.deposits, RefundFees: fees,
	}, time.Now, m.log)
	m.server = m.newServer(endSlowReaders(m.doors(m.service, publicURL), readPatience))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	m.metrics = m.newServer(mux)
	return nil
}

// listen opens both addresses, so that the one that is taken is told before anything begins.
func (m *Main) listen() (err error) {
	if m.listener, err = net.Listen("tcp", string(m.config.Listen)); err != nil {
		return fmt.Errorf("AANET_LISTEN: %w", err)
	}
	if m.metricsListener, err = net.Listen("tcp", string(m.config.MetricsListen)); err != nil {
		return errors.Join(fmt.Errorf("AANET_METRICS_LISTEN: %w", err), m.listener.Close())
	}
	return nil
}

// doors puts REST and MCP, and the pages, behind one handler.
func (m *Main) doors(svc *api.Service, publicURL string) http.Handler {
	metrics := api.NewMetrics(m.registry)
	m.minutes = api.NewMinutes(time.Now)
	metrics.CountMinutes(m.minutes)
	clientAddr := rest.ClientAddr(m.config.TrustedProxies)
	mcpDoor := mcp.New(svc, mcp.Options{
		Log: m.log, Metrics: metrics, AllowedHosts: m.config.AllowedHosts, AllowedOrigins: m.config.AllowedOrigins,
		Version: version, ClientAddr: clientAddr,
	})
	m.parking = rest.NewParking(time.Now)
	return rest.New(svc, rest.Options{
		Parking: m.parking, PublicURL: publicURL, AllowedHosts: m.config.AllowedHosts, AllowedOrigins: m.config.AllowedOrigins,
		TrustedProxies: m.config.TrustedProxies, MCP: mcpDoor, Admin: m.dashboard(svc, publicURL, clientAddr), Ready: m.ready, Log: m.log, Metrics: metrics, Version: version,
	})
}

func (m *Main) newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytesMax,
		ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelDebug),
	}
}

// URL is where the service listens.
func (m *Main) URL() string { return "http://" + m.listener.Addr().String() }

// MetricsURL is where Prometheus reads.
func (m *Main) MetricsURL() string { return "http://" + m.metricsListener.Addr().String() + "/metrics" }

// Run serves until ctx ends, then drains: calls under way finish, new ones are refused.
func (m *Main) Run(ctx context.Context) error {
	m.log.InfoContext(ctx, "metrics", "url", m.MetricsURL())
	watch, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	go m.store.WatchDatabase(watch, m.registry)
	err := m.startPayments(ctx)
	if err != nil {
		return err
	}
	m.jobs, err = jobs.Start(ctx, jobs.Options{URL: m.config.DatabaseDirectURL.Reveal(), Store: m.store, Log: m.log, Reconcile: m.deposits.Reconcile})
	if err != nil {
		return fmt.Errorf("background jobs: %w", err)
	}
	if err := m.showJobs(watch); err != nil {
		return err
	}
	if m.webhooks, err = m.startWebhooks(ctx); err != nil {
		return err
	}
	m.endMinutes = m.startMinutes(ctx)
	if m.stopNotifier, err = m.store.StartNotifier(ctx, m.config.DatabaseDirectURL.Reveal(), m.log); err != nil {
		return fmt.Errorf("notes between replicas: %w", err)
	}
	failed := make(chan error, 2)
	go func() { failed <- m.server.Serve(m.parking.Listen(m.listener)) }()
	go func() { failed <- m.metrics.Serve(m.metricsListener) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
		m.log.InfoContext(ctx, "draining")
	}
	return errors.Join(err, m.drain(context.WithoutCancel(ctx)))
}

// drain ends everything in the order in which nothing is lost.
func (m *Main) drain(ctx context.Context) error {
	close(m.stopping)
	m.service.Drain() // or calls that wait, and streams, would be waited for
	err := m.endCalls(ctx)
	m.stopNotifier()
	m.endMinutes()
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	m.endPayments(ctx)
	return errors.Join(err, m.stopWebhooks(ctx), m.jobs.Stop(ctx), m.store.Close(ctx), m.metrics.Close())
}

// startMinutes counts answers by minute; the function it returns ends that when all are given.
func (m *Main) startMinutes(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.minutes.Run(ctx, m.store, m.log)
	}()
	return func() {
		cancel()
		<-done
	}
}

// endCalls lets the calls under way finish, and cuts off those that take too long.
func (m *Main) endCalls(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	parked := make(chan error, 1)
	go func() { parked <- m.parking.Drain(ctx) }()
	if err := errors.Join(m.server.Shutdown(ctx), <-parked); err != nil {
		return errors.Join(fmt.Errorf("calls under way: %w", err), m.server.Close())
	}
	return nil
}

// Close frees what NewMain opened, when Run was never called.
func (m *Main) Close(ctx context.Context) error {
	return errors.Join(m.listener.Close(), m.metricsListener.Close(), m.store.Close(ctx))
}

// ready tells whether calls would be served: not draining, the database there and its schema new enough.
func (m *Main) ready(ctx context.Context) error {
	select {
	case <-m.stopping:
		return errors.New("draining")
	default:
		return m.store.Ready(ctx)
	}
}
