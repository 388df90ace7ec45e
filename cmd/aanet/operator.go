package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/user"
	"path/filepath"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/api/operators"
	"aanet/store"
	"aanet/store/pgserver"
)

const operatorUsage = `usage:
  aanet operator credit WORKSPACE UNITS --reason TEXT [--refundable] [--id UUID]
  aanet operator block WORKSPACE --reason TEXT
  aanet operator unblock WORKSPACE [--reason TEXT]
` + moneyUsage + `
` + peopleUsage + `

UNITS are units of $0.00001. --id names the credit: the same id credits once, however often it is sent.
The database is that of DATABASE_URL, else the running "aanet dev" of AANET_DATA_DIR.`

const creditMax = 1<<53 - 1

// runOperator does the operator's work. All of it is in the audit log.
func runOperator(ctx context.Context, p process, args []string) error {
	if len(args) > 0 {
		if known, err := runPeople(ctx, p, args[0], args[1:]); known {
			return err
		}
	}
	if len(args) < 2 {
		return errors.New(operatorUsage)
	}
	action, workspaceText, rest := args[0], args[1], args[2:]
	switch action {
	case "deposits":
		return runDeposits(ctx, p, args[1], rest)
	case "refunds":
		return runRefunds(ctx, p, args[1], rest)
	}
	workspace, ok := api.ParseID(workspaceText)
	if !ok {
		return fmt.Errorf("%q is not a workspace id\n%s", workspaceText, operatorUsage)
	}
	switch action {
	case "credit":
		return credit(ctx, p, workspace, rest)
	case "block", "unblock":
		return block(ctx, p, workspace, action == "block", rest)
	}
	return fmt.Errorf("there is no %q\n%s", action, operatorUsage)
}

func credit(ctx context.Context, p process, workspace uuid.UUID, args []string) error {
	if len(args) == 0 {
		return errors.New(operatorUsage)
	}
	units, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || units < 1 || units > creditMax {
		return fmt.Errorf("UNITS must be an integer from 1 to %d", int64(creditMax))
	}
	flags := operatorFlags()
	reason := flags.String("reason", "", "")
	refundable := flags.Bool("refundable", false, "")
	id := flags.String("id", uuid.Must(uuid.NewV7()).String(), "")
	if err := parseOperatorFlags(flags, args[1:], reason, true); err != nil {
		return err
	}
	adjustment, ok := api.ParseID(*id)
	if !ok {
		return errors.New("--id must be a UUID in lower case")
	}
	return withStore(ctx, p, func(s *store.Store) error {
		if err := s.Credit(ctx, commandLine(*reason), workspace, adjustment, units, *refundable); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "credited %d units to %s (adjustment %s)\n", units, workspace, adjustment)
		return nil
	})
}

func block(ctx context.Context, p process, workspace uuid.UUID, blocked bool, args []string) error {
	flags := operatorFlags()
	reason := flags.String("reason", "", "")
	if err := parseOperatorFlags(flags, args, reason, blocked); err != nil {
		return err
	}
	return withStore(ctx, p, func(s *store.Store) error {
		if err := s.Block(ctx, commandLine(*reason), workspace, blocked); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "%s: blocked is now %t\n", workspace, blocked)
		return nil
	})
}

func operatorFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

func parseOperatorFlags(flags *flag.FlagSet, args []string, reason *string, needed bool) error {
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return errors.Join(err, errors.New(operatorUsage))
	}
	if fault := api.TextFault(*reason, 0, operators.ReasonMax, false); fault != "" {
		return fmt.Errorf("--reason %s", fault)
	}
	if needed && utf8.RuneCountInString(*reason) == 0 {
		return errors.New("--reason is required")
	}
	return nil
}

// runVerify checks what must hold in every workspace and names what does not.
func runVerify(ctx context.Context, p process, args []string) error {
	if len(args) != 1 || args[0] != "ledger" {
		return errors.New("usage: aanet verify ledger")
	}
	return withStore(ctx, p, func(s *store.Store) error {
		differences := 0
		checked, err := s.VerifyLedger(ctx, func(d store.Difference) {
			differences++
			fmt.Fprintln(p.stdout, d)
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "%d workspaces checked, %d differences\n", checked, differences)
		if differences > 0 {
			return errors.New("the ledger does not add up")
		}
		return nil
	})
}

// withStore opens the operator's database: DATABASE_URL, else the running aanet dev.
func withStore(ctx context.Context, p process, use func(*store.Store) error) error {
	config, err := LoadConfig("operator", nil, p.environ)
	if err != nil {
		return err
	}
	url := config.DatabaseURL.Reveal()
	if url == "" {
		if url, err = pgserver.Find(ctx, filepath.Join(config.DataDir, "postgres")); err != nil {
			return fmt.Errorf("no DATABASE_URL, and no running aanet dev in %s: %w", config.DataDir, err)
		}
	}
	s, err := store.Open(ctx, store.Options{URL: url, Lanes: 1, PoolSize: 2, Registerer: prometheus.NewRegistry()})
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = s.Close(closing) // its one call was answered already
	}()
	return use(s)
}

// commandLine is an act of whoever has a shell on this machine and the database's address.
func commandLine(reason string) store.Act {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return store.Act{By: "cli:" + name, Reason: reason}
}
