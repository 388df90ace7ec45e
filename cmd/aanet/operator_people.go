package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"aanet/api/operators"
	"aanet/store"
)

const peopleUsage = `  aanet operator create --email EMAIL [--name NAME] [--role viewer|operator|admin] --password-stdin
  aanet operator list
  aanet operator set-role --email EMAIL --role ROLE [--reason TEXT]
  aanet operator set-password --email EMAIL --password-stdin
  aanet operator disable|enable --email EMAIL [--reason TEXT]
  aanet operator audit [--actor WHO] [--action WHAT] [--subject ID] [--limit N]`

// personOptions are the flags of these commands.
type personOptions struct {
	email, name, role, reason string
	passwordStdin             bool
}

// runPeople manages the operators' accounts. False: the action is none of these.
func runPeople(ctx context.Context, p process, action string, args []string) (known bool, err error) {
	switch action {
	case "list":
		return true, withStore(ctx, p, func(s *store.Store) error { return listOperators(ctx, p, s) })
	case "audit":
		return true, listAudit(ctx, p, args)
	case "create", "set-role", "set-password", "disable", "enable":
	default:
		return false, nil
	}
	var o personOptions
	flags := operatorFlags()
	flags.StringVar(&o.email, "email", "", "")
	flags.StringVar(&o.reason, "reason", "", "")
	if action == "create" {
		flags.StringVar(&o.name, "name", "", "")
	}
	if action == "create" || action == "set-role" {
		flags.StringVar(&o.role, "role", "", "")
	}
	if action == "create" || action == "set-password" {
		flags.BoolVar(&o.passwordStdin, "password-stdin", false, "")
	}
	if err := parseOperatorFlags(flags, args, &o.reason, false); err != nil {
		return true, err
	}
	if o.email == "" {
		return true, errors.New("--email is required")
	}
	var password string
	if flags.Lookup("password-stdin") != nil {
		if password, err = readPassword(p.stdin, o.passwordStdin); err != nil {
			return true, err
		}
	}
	return true, withStore(ctx, p, func(s *store.Store) error {
		return managePerson(ctx, p, s, action, o, password)
	})
}

// readPassword takes the first line: a password on the command line would be seen by everyone who lists processes.
func readPassword(stdin io.Reader, asked bool) (string, error) {
	if !asked {
		return "", errors.New("--password-stdin is required: the password is read from the standard input")
	}
	text, err := io.ReadAll(io.LimitReader(stdin, 4<<10))
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	line = strings.TrimSuffix(line, "\r")
	if fault := operators.PasswordFault(line); fault != "" {
		return "", errors.New(fault)
	}
	return line, nil
}

func managePerson(ctx context.Context, p process, s *store.Store, action string, o personOptions, password string) error {
	people, act := operators.New(s, time.Now), commandLine(o.reason)
	if action == "create" {
		return createPerson(ctx, p, s, o, password)
	}
	who, err := s.OperatorByEmail(ctx, o.email)
	if err != nil {
		return err
	}
	switch action {
	case "set-role":
		err = people.SetRole(ctx, act, who.ID, store.Role(o.role))
	case "set-password":
		err = people.SetPassword(ctx, act, who.ID, password)
	case "disable":
		err = people.Disable(ctx, act, who.ID)
	case "enable":
		err = people.Enable(ctx, act, who.ID)
	}
	if err == nil {
		fmt.Fprintf(p.stdout, "%s: %s done\n", who.Email, action)
	}
	return err
}

// createPerson makes the very first operator an admin, unless another role is asked for: somebody has to be.
func createPerson(ctx context.Context, p process, s *store.Store, o personOptions, password string) error {
	role := store.Role(o.role)
	if role == "" {
		others, err := s.Operators(ctx)
		if err != nil {
			return err
		}
		if role = store.RoleOperator; len(others) == 0 {
			role = store.RoleAdmin
		}
	}
	made, err := operators.New(s, time.Now).Create(ctx, commandLine(o.reason), operators.NewOperator{
		Email: o.email, Name: o.name, Role: role, Password: password,
	})
	if err == nil {
		fmt.Fprintf(p.stdout, "created %s as %s\n", made.Email, made.Role)
	}
	return err
}

func listOperators(ctx context.Context, p process, s *store.Store) error {
	all, err := s.Operators(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "EMAIL\tROLE\tNAME\tCREATED\tLAST LOGIN\tDISABLED")
	for _, o := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", o.Email, o.Role, cmp.Or(o.Name, "-"), o.CreatedAt.UTC().Format(time.RFC3339), instant(o.LastLoginAt), instant(o.DisabledAt))
	}
	return w.Flush()
}

func instant(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

func listAudit(ctx context.Context, p process, args []string) error {
	f := store.AuditFilter{}
	flags := operatorFlags()
	flags.StringVar(&f.Actor, "actor", "", "")
	flags.StringVar(&f.Action, "action", "", "")
	flags.StringVar(&f.Subject, "subject", "", "")
	flags.IntVar(&f.Limit, "limit", 50, "")
	if err := parseOperatorFlags(flags, args, new(string), false); err != nil {
		return err
	}
	if f.Limit < 1 || f.Limit > listMax {
		return fmt.Errorf("--limit must be 1 to %d", listMax)
	}
	return withStore(ctx, p, func(s *store.Store) error {
		rows, err := s.Audit(ctx, f)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "AT\tWHO\tACTION\tSUBJECT\tREASON\tBEFORE\tAFTER\tADDRESS")
		for _, r := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s %s\t%q\t%s\t%s\t%s\n", r.At.UTC().Format(time.RFC3339), r.Actor, r.Action, r.SubjectKind, r.Subject,
				r.Reason, cmp.Or(string(r.Before), "-"), cmp.Or(string(r.After), "-"), cmp.Or(r.Address, "-"))
		}
		return w.Flush()
	})
}
