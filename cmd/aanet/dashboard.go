package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"aanet/api"
	"aanet/api/admin"
	"aanet/api/operators"
	"aanet/billing/deposits"
	"aanet/billing/refunds"
	"aanet/store"
)

// dashboard makes the operators' pages; nil when they are turned off.
func (m *Main) dashboard(svc *api.Service, publicURL string, clientAddr func(*http.Request) netip.Addr) http.Handler {
	if !m.config.Admin {
		return nil
	}
	o := admin.Options{
		Store: m.store, Operators: operators.New(m.store, time.Now), PublicURL: publicURL, ClientAddr: clientAddr,
		Refunds: refunds.Desk{Store: m.store, From: m.config.PayoutFrom}, Deposits: deposits.Desk{Store: m.store},
		Jobs: &m.jobPages, Pricing: svc.Pricing, Now: time.Now, Log: m.log,
	}
	if m.chains != nil { // a nil pointer would not be a nil Evidence
		o.Refunds.Evidence, o.Deposits.Evidence = m.chains, m.chains
	}
	return admin.New(o)
}

// devOperator is the account that aanet dev makes when there is none at all.
const devOperator = "operator@localhost"

// greetOperator says where the dashboard is. At the first start, when nobody could log in, it makes an operator and shows
// his password, which nothing shows again.
func (m *Main) greetOperator(ctx context.Context, p process) {
	if !m.config.Admin {
		return
	}
	fmt.Fprintf(p.stdout, "Dashboard: %s%s\n", m.URL(), admin.Root)
	password, err := m.firstOperator(ctx)
	switch {
	case err != nil:
		fmt.Fprintf(p.stdout, "  no operator was made: %v\n\n", err)
	case password != "":
		fmt.Fprintf(p.stdout, "  email     %s\n  password  %s\n  It is shown only this once. ", devOperator, password)
	}
	if err == nil {
		fmt.Fprintf(p.stdout, "A new password: echo 'NEW PASSWORD' | aanet operator set-password --email EMAIL --password-stdin\n\n")
	}
}

// firstOperator makes an admin if there is no operator, and gives his password; empty: there are some.
func (m *Main) firstOperator(ctx context.Context) (password string, err error) {
	all, err := m.store.Operators(ctx)
	if err != nil || len(all) > 0 {
		return "", err
	}
	password = rand.Text()
	_, err = operators.New(m.store, time.Now).Create(ctx, store.Act{By: "cli:aanet dev", Reason: "the first operator"}, operators.NewOperator{
		Email: devOperator, Name: "First operator", Role: store.RoleAdmin, Password: password,
	})
	return password, err
}

// jobPages are River's own pages, which there are once the background work has begun.
type jobPages struct{ pages atomic.Pointer[http.Handler] }

func (j *jobPages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pages := j.pages.Load()
	if pages == nil {
		http.Error(w, "The background jobs have not begun. Try again in a moment.", http.StatusServiceUnavailable)
		return
	}
	(*pages).ServeHTTP(w, r)
}

// showJobs lets the dashboard show the background jobs until ctx ends.
func (m *Main) showJobs(ctx context.Context) error {
	if !m.config.Admin {
		return nil
	}
	pages, err := m.jobs.UI(ctx, admin.JobsPath)
	if err == nil {
		m.jobPages.pages.Store(&pages)
	}
	return err
}
