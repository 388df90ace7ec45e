package main

import (
	"net/http"
	"net/netip"
	"time"

	"aanet/api/admin"
	"aanet/api/operators"
)

// dashboard makes the operators' pages; nil when they are turned off.
func (m *Main) dashboard(publicURL string, clientAddr func(*http.Request) netip.Addr) http.Handler {
	if !m.config.Admin {
		return nil
	}
	return admin.New(admin.Options{
		Store: m.store, Operators: operators.New(m.store, time.Now), PublicURL: publicURL, ClientAddr: clientAddr,
		Now: time.Now, Log: m.log,
	})
}
