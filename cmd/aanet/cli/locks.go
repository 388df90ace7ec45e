package cli

import (
	"strconv"

	"aanet/api/client"
)

func lockCommands() []*command {
	return []*command{
		{
			name: "lock run", group: groupWork, args: "NAME", min: 1, max: 1, takes: true, summary: "run a command while holding a lock", run: runLockRun,
			detail: "Takes a lock, runs the command, keeps renewing, and gives the lock back. The command's exit code is passed on. Its environment has " +
				variableLock + " and " + variableToken + "; writes with --fence happen only while the lock is held. Signals are passed on. If the lease is lost, " +
				"the command is told to end (TERM) and killed after --grace. 5 units, 1 for a look before, and 2 for each renewal, every third of the lease.",
			example: "aanet lock run notes/task-1 -- sh -c 'echo done | aanet put notes/task-1.md --fence'",
			flags: []option{
				{"lease", "TIME", "how long the lock stays taken if this machine dies (30s)"},
				{"wait", "TIME", "wait so long while another has the lock, or forever (0s)"},
				{"takeover", "", "take it also if this key holds it already: after a crash, and only if nothing else uses the key"},
				{"grace", "TIME", "between TERM and KILL (5s)"},
				{"exit-not-locked", "N", "exit code when the lock was not to be had (4)"},
				{"exit-lost", "N", "exit code when the lease was lost (5)"},
			},
		},
		{
			name: "lock status", group: groupWork, args: "NAME", min: 1, max: 1, summary: "show who holds a lock", run: runLockStatus,
			detail:  "Shows whether a lock is held, by whom and until when. 1 unit, nothing if nobody ever held it.",
			example: "aanet lock status notes/task-1",
		},
		{
			name: "lock list", group: groupWork, summary: "list the locks that are held", run: runLockList,
			detail:  "Lists the held locks within the key's scope. 1 unit for a thousand.",
			example: "aanet lock list",
		},
		{
			name: "lock acquire", group: groupWork, args: "NAME", min: 1, max: 1, summary: "take a lock and go", run: runLockAcquire,
			detail:  "Takes a lock and leaves it taken until its lease runs out: for scripts that renew and release by themselves. 5 units.",
			example: "aanet lock acquire notes/task-2 --lease 60s",
			flags:   []option{{"lease", "TIME", "how long (30s)"}, {"wait", "TIME", "wait so long while another has the lock, at most 50s (0s)"}},
		},
		{
			name: "lock renew", group: groupWork, args: "NAME", min: 1, max: 1, summary: "prolong the lease of a lock", run: runLockRenew,
			detail:  "Sets the lease of a lock that this key holds, from now on. 2 units.",
			example: "aanet lock renew notes/task-2 --lease 60s",
			flags:   []option{{"lease", "TIME", "how long (30s)"}},
		},
		{
			name: "lock release", group: groupWork, args: "NAME", min: 1, max: 1, summary: "give a lock back", run: runLockRelease,
			detail:  "Gives back a lock that this key holds. Free.",
			example: "aanet lock release notes/task-2",
		},
	}
}

// holder names who has a lock: the owner has no id.
func holder(id *string) string { return textOr(id, "the owner") }

func runLockStatus(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.LockStatusOut, error) {
		return agent.GetLockStatus(c.ctx, client.GetLockStatusIn{Name: c.arg(0)}, raw)
	}, func(s client.LockStatusOut) {
		rows := [][]string{{"name", s.Name}, {"status", s.Status}}
		if s.Status == "held" {
			rows = append(rows, []string{"holder", holder(s.HolderSubkeyID)}, []string{"until", momentOr(s.LeaseExpiresAt, "")})
		}
		if s.AcquireCount > 0 {
			rows = append(rows, []string{"fencing token", tokenOr(s.FencingToken)},
				[]string{"last holder", holder(s.LastHolderSubkeyID)}, []string{"last taken", momentOr(s.LastAcquiredAt, "")},
				[]string{"last given back", momentOr(s.LastReleasedAt, "never")},
				[]string{"taken", grouped(s.AcquireCount)}, []string{"given back", grouped(s.ReleaseCount)})
		}
		table(c.Stdout, rows)
	})
}

func tokenOr(token *int64) string {
	if token == nil {
		return "none"
	}
	return strconv.FormatInt(*token, 10)
}

func runLockList(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	rows := [][]string{{"NAME", "HOLDER", "UNTIL", "TOKEN"}}
	for lock, err := range agent.HeldLocks(c.ctx) {
		if err != nil {
			return err
		}
		if c.on("json") {
			if err := c.line(lock); err != nil {
				return err
			}
		}
		rows = append(rows, []string{lock.Name, holder(lock.HolderSubkeyID), moment(lock.LeaseExpiresAt), strconv.FormatInt(lock.FencingToken, 10)})
	}
	if !c.on("json") {
		table(c.Stdout, rows)
	}
	return nil
}

func runLockAcquire(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	in := client.AcquireLockIn{Name: c.arg(0)}
	if in.LeaseSeconds, err = c.seconds("lease", leaseDefault); err != nil {
		return err
	}
	if in.WaitSeconds, err = c.seconds("wait", 0); err != nil {
		return err
	}
	err = show(c, func(raw client.CallOption) (client.AcquireLockOut, error) { return agent.AcquireLock(c.ctx, in, raw) },
		func(out client.AcquireLockOut) {
			c.say("%s is held until %s, fencing token %d", shown(out.Name), moment(out.LeaseExpiresAt), out.FencingToken)
			if out.Reacquired {
				c.note("this key held it before; its lease began anew")
			}
		})
	return c.notLocked(err)
}

func runLockRenew(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	in := client.RenewLockIn{Name: c.arg(0)}
	if in.LeaseSeconds, err = c.seconds("lease", leaseDefault); err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.RenewLockOut, error) { return agent.RenewLock(c.ctx, in, raw) },
		func(out client.RenewLockOut) {
			c.say("%s is held until %s, fencing token %d", shown(out.Name), moment(out.LeaseExpiresAt), out.FencingToken)
		})
}

func runLockRelease(c *call) error {
	agent, err := c.connect()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.ReleaseLockOut, error) {
		return agent.ReleaseLock(c.ctx, client.ReleaseLockIn{Name: c.arg(0)}, raw)
	}, func(out client.ReleaseLockOut) { c.say("%s is free", shown(out.Name)) })
}
