package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"aanet/api"
	"aanet/billing"
	"aanet/billing/deposits"
	"aanet/billing/refunds"
	"aanet/billing/x402"
	"aanet/store"
)

const moneyUsage = `  aanet operator deposits list
  aanet operator deposits credit ID --tx HASH --reason TEXT
  aanet operator deposits fail ID --reason TEXT
  aanet operator deposits totals
  aanet operator refunds list
  aanet operator refunds pay ID --tx HASH [--unchecked]
  aanet operator refunds reject ID --reason TEXT`

const listMax = 1000 // rows that a list shows

// runDeposits does the operator's work on deposits that nothing else can decide.
func runDeposits(ctx context.Context, p process, action string, args []string) error {
	switch action {
	case "list":
		return withStore(ctx, p, func(s *store.Store) error { return listDeposits(ctx, p, s) })
	case "totals":
		return withStore(ctx, p, func(s *store.Store) error { return depositTotals(ctx, p, s) })
	case "credit", "fail":
	default:
		return fmt.Errorf("there is no %q\n%s", action, operatorUsage)
	}
	id, o, err := moneyArguments(args, action == "credit", true)
	if err != nil {
		return err
	}
	config, err := LoadConfig("operator", nil, p.environ)
	if err != nil {
		return err
	}
	return withStore(ctx, p, func(s *store.Store) error {
		desk, to := deposits.Desk{Store: s}, store.DepositFailed
		chains, err := newChains(config)
		if err != nil {
			return err
		}
		if chains != nil { // a nil pointer would not be a nil Evidence
			desk.Evidence = chains
		}
		var d store.Deposit
		if action == "credit" {
			to = store.DepositCredited
			d, err = desk.Credit(ctx, commandLine(o.reason), id, o.transaction)
		} else {
			d, err = desk.Fail(ctx, commandLine(o.reason), id)
		}
		if err != nil {
			return decided("deposit", err)
		}
		fmt.Fprintf(p.stdout, "deposit %s of %d units (workspace %s) is now %s\n", d.ID, d.Units, d.Workspace, to)
		return nil
	})
}

// decided says in the operator's words why a move was refused.
func decided(what string, err error) error {
	var state *store.StateError
	switch {
	case errors.As(err, new(*x402.TransactionError)), errors.As(err, new(*store.TransactionUsedError)):
		return fmt.Errorf("--tx: %w", err)
	case !errors.As(err, &state):
		return err
	case what == "deposit" && (state.State == store.DepositReceived || state.State == store.DepositSettling):
		return fmt.Errorf("the deposit is %s: somebody works on it; it is the operator's once it is %s", state.State, store.DepositUnknown)
	}
	tx := ""
	if state.Transaction != nil {
		tx = " by " + *state.Transaction
	}
	return fmt.Errorf("the %s is %s already%s", what, state.State, tx)
}

func listDeposits(ctx context.Context, p process, s *store.Store) error {
	open, err := s.OpenDeposits(ctx, store.Deposit{}, listMax)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DEPOSIT\tWORKSPACE\tSTATE\tUSD\tNETWORK\tPAYER\tSINCE\tFACILITATOR\tSETTLES\tTX (HINT)\tREASON")
	for _, d := range open {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", d.ID, d.Workspace, d.State, billing.Units(d.Units).USD(), d.Network, d.Payer,
			d.CreatedAt.UTC().Format(time.RFC3339), cmp.Or(d.Facilitator, "-"), d.Attempt, cmp.Or(d.Transaction, "-"), cmp.Or(d.Reason, "-"))
	}
	return w.Flush()
}

func depositTotals(ctx context.Context, p process, s *store.Store) error {
	totals, err := s.DepositTotals(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "NETWORK\tSTATE\tDEPOSITS\tUSD\t")
	for _, t := range totals {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t\n", t.Network, t.State, t.Count, billing.Units(t.Units).USD())
	}
	return w.Flush()
}

// runRefunds does the operator's work on refunds.
func runRefunds(ctx context.Context, p process, action string, args []string) error {
	switch action {
	case "list":
		return withStore(ctx, p, func(s *store.Store) error { return listRefunds(ctx, p, s) })
	case "pay", "reject":
	default:
		return fmt.Errorf("there is no %q\n%s", action, operatorUsage)
	}
	id, o, err := moneyArguments(args, action == "pay", action == "reject")
	if err != nil {
		return err
	}
	config, err := LoadConfig("operator", nil, p.environ)
	if err != nil {
		return err
	}
	return withStore(ctx, p, func(s *store.Store) error {
		desk, err := newDesk(config, s)
		if err != nil {
			return err
		}
		if action == "reject" {
			r, err := desk.Reject(ctx, id, commandLine(o.reason))
			if err != nil {
				return decided("refund", err)
			}
			fmt.Fprintf(p.stdout, "refund %s is rejected: %d units are back in workspace %s\n", r.ID, r.Units, r.Workspace)
			return nil
		}
		r, err := desk.Pay(ctx, id, o.transaction, o.unchecked, commandLine(o.reason))
		if errors.Is(err, refunds.ErrUnchecked) {
			return fmt.Errorf("%w: look it up yourself and say --unchecked", err)
		}
		if err != nil {
			return decided("refund", err)
		}
		fmt.Fprintf(p.stdout, "refund %s is paid: %s USD to %s on %s\n", r.ID, billing.Units(r.Units-r.Fee).USD(), r.Destination, r.Network)
		return nil
	})
}

func listRefunds(ctx context.Context, p process, s *store.Store) error {
	pending, err := s.PendingRefunds(ctx, store.Refund{}, listMax)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "REFUND\tWORKSPACE\tPAY USD\tNETWORK\tTO\tREQUESTED\tGROSS USD\tFEE USD")
	for _, r := range pending {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Workspace, billing.Units(r.Units-r.Fee).USD(), r.Network, r.Destination,
			r.RequestedAt.UTC().Format(time.RFC3339), billing.Units(r.Units).USD(), billing.Units(r.Fee).USD())
	}
	return w.Flush()
}

// moneyOptions are the flags of these commands.
type moneyOptions struct {
	transaction, reason string
	unchecked           bool
}

// moneyArguments reads ID and the flags; those that are needed must be there.
func moneyArguments(args []string, needsTransaction, needsReason bool) (id uuid.UUID, o moneyOptions, err error) {
	if len(args) == 0 {
		return id, o, errors.New(operatorUsage)
	}
	id, ok := api.ParseID(args[0])
	if !ok {
		return id, o, fmt.Errorf("%q is not an id\n%s", args[0], operatorUsage)
	}
	flags := operatorFlags()
	flags.StringVar(&o.reason, "reason", "", "")
	if needsTransaction {
		flags.StringVar(&o.transaction, "tx", "", "")
		flags.BoolVar(&o.unchecked, "unchecked", false, "")
	}
	if err := parseOperatorFlags(flags, args[1:], &o.reason, needsReason); err != nil {
		return id, o, err
	}
	return id, o, transactionGiven(flags, needsTransaction)
}

func transactionGiven(flags *flag.FlagSet, needed bool) error {
	if needed && flags.Lookup("tx").Value.String() == "" {
		return errors.New("--tx is required")
	}
	return nil
}
