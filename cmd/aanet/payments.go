package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aanet/billing"
	"aanet/billing/chain"
	"aanet/billing/deposits"
	"aanet/billing/refunds"
	"aanet/billing/x402"
	"aanet/store"
)

// firstFacilitators is how long a start waits until the facilitators were asked once, so that the first depositor finds
// networks on offer. Those that take longer come later.
const firstFacilitators = 2 * time.Second

// newGateway reads the facilitators and receivers of the configuration. Without any it offers nothing.
func newGateway(config Config, log *slog.Logger, registry prometheus.Registerer) (*x402.Gateway, error) {
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "aanet_facilitator_request_seconds", Help: "Requests to x402 facilitators.",
		Buckets: []float64{0.1, 0.5, 1, 2, 5, 10, 30, 90},
	}, []string{"facilitator", "endpoint", "outcome"})
	registry.MustRegister(requests)
	o := x402.Options{PayTo: config.PayTo, Now: time.Now, Observe: func(c x402.Call) {
		requests.WithLabelValues(c.Facilitator, c.Endpoint, c.Outcome).Observe(c.Took.Seconds())
		if c.Fault != "" {
			log.Debug("facilitator", "name", c.Facilitator, "endpoint", c.Endpoint, "outcome", c.Outcome, "fault", c.Fault)
		}
	}}
	for _, f := range config.Facilitators {
		o.Facilitators = append(o.Facilitators, x402.Facilitator{
			Name: f.Name, URL: f.URL, Auth: f.Auth, KeyID: f.KeyID, KeySecret: x402.Secret(f.KeySecret.Reveal()),
			Networks: f.Networks, Timeout: time.Duration(f.Timeout),
		})
	}
	return x402.New(o)
}

// refundFees are the configured fees in units.
func refundFees(config Config) (refunds.Fees, error) {
	fees := refunds.Fees{}
	for network, usd := range map[string]string{"base": config.RefundFeeUSD.Base, "solana": config.RefundFeeUSD.Solana} {
		fee, err := billing.ParseUSD(usd, 5)
		if err != nil {
			return nil, fmt.Errorf("refund fee of %s: %w", network, err)
		}
		fees[network] = fee
	}
	return fees, nil
}

// graceAfter is how long after the longest timeout of a facilitator a deposit counts as left behind.
const graceAfter = time.Minute

// preparePayments makes what takes deposits in.
func (m *Main) preparePayments() error {
	var err error
	if m.gateway, err = newGateway(m.config, m.log, m.registry); err != nil {
		return err
	}
	grace := 2 * time.Minute
	for _, f := range m.config.Facilitators {
		grace = max(grace, time.Duration(f.Timeout)+graceAfter)
	}
	chains, err := newChains(m.config)
	if err != nil {
		return err
	}
	m.chains = chains
	o := deposits.Options{Store: m.store, Gateway: m.gateway, Now: time.Now, Log: m.log, Grace: grace}
	if chains != nil { // a nil pointer would not be a nil Evidence
		o.Evidence = chains
	}
	m.deposits = deposits.New(o)
	m.registry.MustRegister(depositMetrics{m.store})
	return nil
}

// newChains makes what asks the chains; nil when no RPC URL is configured.
func newChains(config Config) (*chain.Chains, error) {
	if len(config.RPCURLs) == 0 {
		return nil, nil
	}
	urls := map[string]string{}
	for network, url := range config.RPCURLs {
		urls[network] = url.Reveal()
	}
	return chain.New(chain.Options{URLs: urls, PayTo: config.PayTo})
}

// chainCheck is how long a start waits for the chains to show that they are what the configuration takes them for.
const chainCheck = 10 * time.Second

// startPayments begins to ask the facilitators what they support. It fails when a chain or its token is not what payers
// would sign for; one that cannot be asked now is no failure.
func (m *Main) startPayments(ctx context.Context) error {
	m.gateway.Start(ctx)
	if m.chains != nil {
		checking, cancel := context.WithTimeout(ctx, chainCheck)
		defer cancel()
		if err := m.chains.Check(checking); errors.Is(err, chain.ErrMismatch) {
			return fmt.Errorf("AANET_RPC_URLS: %w", err)
		} else if err != nil {
			m.log.WarnContext(ctx, "a chain cannot be asked at the start", "error", err.Error())
		}
	}
	first, cancel := context.WithTimeout(ctx, firstFacilitators)
	defer cancel()
	m.gateway.WaitFirst(first)
	return nil
}

// lastSettlements is how long the end of the service waits for payments under way.
const lastSettlements = 5 * time.Second

// endPayments waits a little for payments under way. What takes longer is cut off, and not lost: the chain or the
// operator decides it.
func (m *Main) endPayments(ctx context.Context) {
	m.gateway.Stop()
	ctx, cancel := context.WithTimeout(ctx, lastSettlements)
	defer cancel()
	if err := m.deposits.Wait(ctx); err != nil {
		m.log.WarnContext(ctx, "payments are cut off", "error", err.Error())
	}
}

// newDesk makes the operator's desk for refunds.
func newDesk(config Config, s *store.Store) (refunds.Desk, error) {
	desk := refunds.Desk{Store: s, From: config.PayoutFrom}
	chains, err := newChains(config)
	if err == nil && chains != nil {
		desk.Evidence = chains
	}
	return desk, err
}

// depositMetrics shows the deposits by network and state when it is asked.
type depositMetrics struct{ store *store.Store }

var (
	depositCount = prometheus.NewDesc("aanet_deposits", "Deposits by network and state.", []string{"network", "state"}, nil)
	depositUnits = prometheus.NewDesc("aanet_deposit_units", "Units of deposits by network and state.", []string{"network", "state"}, nil)
)

// Describe names the metrics.
func (depositMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- depositCount
	descriptions <- depositUnits
}

// Collect reads them; a database that is away shows none.
func (d depositMetrics) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	totals, err := d.store.DepositTotals(ctx)
	if err != nil {
		return
	}
	for _, t := range totals {
		metrics <- prometheus.MustNewConstMetric(depositCount, prometheus.GaugeValue, float64(t.Count), t.Network, t.State)
		metrics <- prometheus.MustNewConstMetric(depositUnits, prometheus.GaugeValue, float64(t.Units), t.Network, t.State)
	}
}
