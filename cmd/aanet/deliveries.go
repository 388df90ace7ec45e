package main

import (
	"context"
	"fmt"
	"time"

	"aanet/billing"
	"aanet/webhooks"
)

// deliveriesTimeout is how long a stop waits for attempts under way: no attempt takes longer.
const deliveriesTimeout = 16 * time.Second

// prepareWebhooks makes what registering and delivering share.
func (m *Main) prepareWebhooks() (err error) {
	private := m.config.WebhookAllowPrivate
	m.guard = webhooks.NewGuard(webhooks.GuardOptions{HostPorts: private.HostPorts, Prefixes: private.Prefixes})
	if m.sealer, err = webhooks.NewSealer(m.config.SecretKey.Bytes()); err != nil {
		return fmt.Errorf("AANET_SECRET_KEY: %w", err)
	}
	return nil
}

func (m *Main) startWebhooks(ctx context.Context) (*webhooks.Engine, error) {
	roots, err := webhooks.Roots(m.config.WebhookCAFile)
	if err != nil {
		return nil, fmt.Errorf("AANET_WEBHOOK_CA_FILE: %w", err)
	}
	engine, err := webhooks.Start(ctx, webhooks.Options{
		Store: m.store, Guard: m.guard, Sealer: m.sealer, Roots: roots, Retry: m.config.WebhookRetry,
		Price: int64(billing.WebhookAttempt), Registerer: m.registry, Now: time.Now, Log: m.log,
	})
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	return engine, nil
}

func (m *Main) stopWebhooks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deliveriesTimeout)
	defer cancel()
	return m.webhooks.Stop(ctx)
}
