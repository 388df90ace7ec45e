# What one needs to work on AANet: Go, git and make. Everything else (a private Postgres, a C compiler for the race
# detector, Chromium, Node.js, plpgsql_check) is used if it is there and installed when this runs as root where apt is
# at hand.

# Not $(dir), which splits a path at its spaces.
ROOT := $(shell cd "$$(dirname '$(strip $(MAKEFILE_LIST))')" && pwd)/
IN   := cd '$(ROOT)' &&

# A work tree that belongs to someone else (root in a container) makes git refuse, and the version stamp with it.
export GOFLAGS := -buildvcs=false $(GOFLAGS)

PKG         ?= ./...
RUN         ?=
TESTTIMEOUT ?= 9m
FUZZTIME    ?= 10s
ARGS        ?=

# Runs a command with AANET_TEST_DATABASE_URL pointing at a private, throwaway Postgres.
WITHPOSTGRES := go run ./store/storetest/withpostgres --

# The official MCP suite, against the doors with its fixtures.
CONFORMANCE := -tags conformance -timeout 5m ./api/mcp -run TestConformance

# ST1005 wants errors to begin in lower case, and takes the name Postgres for a capitalized word.
CHECKS := -checks=inherit,-ST1005

.DEFAULT_GOAL := help
.PHONY: help run test conformance lint bench docs fuzz demo build

help: ## Show this list
	@echo 'make TARGET, where TARGET is one of:'
	@grep -hE '^[a-z]+:.*## ' '$(ROOT)Makefile' | sed -E 's/^([a-z]+):.*## /\1\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  %-11s %s\n' "$$name" "$$text"; done

run: build ## Start the service with a Postgres of its own (ARGS="--listen 127.0.0.1:0")
	@$(IN) exec bin/aanet dev $(ARGS)

test: ## Check and test everything on a private Postgres (one package: PKG=./store, one test: RUN=TestName)
	@$(IN) echo '== format' && deploy/tools/format.sh
	@$(IN) deploy/tools/packages.sh
	@$(IN) race=$$(deploy/tools/race.sh) && \
		echo "== build $$race" && code=$$(go list -f '{{if .GoFiles}}{{.ImportPath}}{{end}}' $(PKG)) && \
		{ test -z "$$code" || go build $$race -v $$code; } && \
		echo '== vet' && go vet $$race $(PKG) && \
		echo '== test' && $(WITHPOSTGRES) go test $$race -timeout $(TESTTIMEOUT) $(if $(RUN),-v -run '$(RUN)') $(PKG) \
		$(if $(filter-out ./...,$(PKG))$(RUN),,&& echo '== conformance' && $(WITHPOSTGRES) go test $$race $(CONFORMANCE)/0.1.16)

conformance: ## Run the official MCP conformance suite against the doors
	@$(IN) AANET_TEST_NODE=1 $(WITHPOSTGRES) go test $(CONFORMANCE) -v -count=1

lint: ## staticcheck, go vet, the rules of the SQL functions, and plpgsql_check on all of them
	@$(IN) echo '== format' && deploy/tools/format.sh
	@$(IN) echo '== vet' && go vet ./... && go vet -tags conformance ./api/mcp
	@$(IN) echo '== staticcheck' && go tool -modfile=deploy/tools/go.mod staticcheck $(CHECKS) ./...
	@$(IN) echo '== layout and SQL rules' && go test ./docs/...
	@$(IN) echo '== plpgsql_check' && $(WITHPOSTGRES) go run ./store/storetest/plpgsqlcheck

bench: ## Measure calls a second and latencies on this machine
	@$(IN) go run ./cmd/aanet bench $(ARGS)

docs: ## Write the generated reference under docs/ anew
	@$(IN) go run ./cmd/aanet docs $(ARGS)

fuzz: ## Run every fuzz target for FUZZTIME each (default 10s)
	@$(IN) $(WITHPOSTGRES) deploy/tools/fuzz.sh '$(FUZZTIME)' '$(RUN)'

demo: ## Play a session of several agents against a fresh service
	@$(IN) go run ./cmd/aanet demo $(ARGS)

build: ## Build bin/aanet
	@$(IN) echo '== build bin/aanet' && go build -v -trimpath -o bin/aanet ./cmd/aanet
