package cli

import (
	"strings"

	"aanet/api/client"
)

func keyCommands() []*command {
	limits := []option{
		{"scope", "PATH", "files and locks of this path and below only"},
		{"budget", "UNITS", "what it may spend in all"},
		{"per-hour", "UNITS", "what it may spend in any hour"},
		{"per-day", "UNITS", "what it may spend in any 24 hours"},
	}
	return []*command{
		{
			name: "keys mint", group: groupOwner, args: "LABEL", min: 1, max: 1, summary: "make a key for one agent", run: runMint,
			detail:  "Makes a sub-key and prints it, this once. Give each agent its own: locks belong to a key, and messages are sent to one. Free; owner key.",
			example: "aanet keys mint 'agent one' --scope notes --budget 40 --save agent-1",
			flags:   append(limits[:len(limits):len(limits)], option{"save", "NAME", "keep the key in this profile"}),
		},
		{
			name: "keys list", group: groupOwner, summary: "list keys with their spend", run: runKeys,
			detail:  "Lists all sub-keys, revoked ones included. Free; owner key.",
			example: "aanet keys list",
		},
		{
			name: "keys update", group: groupOwner, args: "KEY_ID", min: 1, max: 1, summary: "change a key's scope, cap or limits", run: runUpdateKey,
			detail: "Changes what is given and leaves the rest. It binds from the key's next call. Free; owner key.",
			flags: append(limits[:len(limits):len(limits)],
				option{"clear", "LIST", "limits to take away: path_scope_prefix, budget_cap, spend_limit_per_hour, spend_limit_per_day"}),
		},
		{
			name: "keys revoke", group: groupOwner, args: "KEY_ID", min: 1, max: 1, summary: "revoke a key and free its locks", run: runRevoke,
			detail: "From now on the key is refused everywhere, and its locks are free. It cannot be undone. Free; owner key.",
		},
		{
			name: "keys rotate", group: groupOwner, args: "[KEY_ID]", max: 1, summary: "replace a key by a new one", run: runRotate,
			detail: "Makes a new key for a sub-key, or without KEY_ID for the owner, and prints it, this once. The old one works until the new one is first used, for 10 minutes at most. " +
				"An owner key that came from a profile is replaced there. Free; owner key.",
			flags: []option{{"immediate", "", "the old key dies at once, as when it leaked"}, {"save", "NAME", "keep the new key in this profile"}},
		},
	}
}

func runMint(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	in := client.MintSubkeyIn{Label: c.arg(0), PathScopePrefix: c.text("scope")}
	if err := c.numbers(map[string]**int64{"budget": &in.BudgetCap, "per-hour": &in.SpendLimitPerHour, "per-day": &in.SpendLimitPerDay}); err != nil {
		return err
	}
	name, save := c.values["save"]
	if save && !profileName.MatchString(name) {
		return errProfileName
	}
	key := ""
	err = show(c, func(raw client.CallOption) (client.MintSubkeyOut, error) {
		out, err := owner.MintSubkey(c.ctx, in, raw)
		key = out.Key
		return out, err
	}, func(out client.MintSubkeyOut) {
		table(c.Stdout, [][]string{{"id", out.SubkeyID}, {"key", out.Key}})
		c.note("The key is shown this once.")
	})
	if err != nil || !save {
		return err
	}
	return c.save(name, key, false)
}

var keyHeads = []string{"ID", "LABEL", "SCOPE", "SPENT", "BUDGET", "PER HOUR", "PER DAY", "LAST USED", "REVOKED"}

func keyRow(k client.SubkeyOut) []string {
	return []string{
		k.SubkeyID, k.Label, textOr(k.PathScopePrefix, "everything"), grouped(k.SpentSoFar), unitsOr(k.BudgetCap, "-"),
		unitsOr(k.SpendLimitPerHour, "-"), unitsOr(k.SpendLimitPerDay, "-"), momentOr(k.LastUsedAt, "never"), yesNo(k.Revoked),
	}
}

func runKeys(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	return showList(c, func(raw client.CallOption) ([]client.SubkeyOut, error) { return owner.ListSubkeys(c.ctx, raw) }, keyHeads, keyRow)
}

func runUpdateKey(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	in := client.UpdateSubkeyIn{SubkeyID: c.arg(0), PathScopePrefix: c.text("scope")}
	if err := c.numbers(map[string]**int64{"budget": &in.BudgetCap, "per-hour": &in.SpendLimitPerHour, "per-day": &in.SpendLimitPerDay}); err != nil {
		return err
	}
	if list := c.values["clear"]; list != "" {
		in.Clear = new(strings.Split(list, ","))
	}
	return show(c, func(raw client.CallOption) (client.SubkeyOut, error) { return owner.UpdateSubkey(c.ctx, in, raw) },
		func(out client.SubkeyOut) { table(c.Stdout, [][]string{keyHeads, keyRow(out)}) })
}

func runRevoke(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	return show(c, func(raw client.CallOption) (client.RevokeSubkeyOut, error) {
		return owner.RevokeSubkey(c.ctx, client.RevokeSubkeyIn{SubkeyID: c.arg(0)}, raw)
	}, func(out client.RevokeSubkeyOut) {
		c.say("revoked %s", out.SubkeyID)
		for _, lock := range out.ReleasedLocks {
			c.say("released %s", shown(lock))
		}
	})
}

func runRotate(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	name, save := c.values["save"]
	if save && !profileName.MatchString(name) {
		return errProfileName
	}
	in := client.RotateKeyIn{Immediate: c.on("immediate")}
	if id := c.arg(0); id != "" {
		in.SubkeyID = &id
	} else if !save { // the profile's own key is about to die
		name, save = c.identity.profile, c.identity.profile != ""
	}
	key := ""
	err = show(c, func(raw client.CallOption) (client.RotateKeyOut, error) {
		out, err := owner.RotateKey(c.ctx, in, raw)
		key = out.Key
		return out, err
	}, func(out client.RotateKeyOut) {
		rows := [][]string{{"key", out.Key}, {"the old one works until", moment(out.PreviousValidUntil)}}
		if out.SubkeyID != nil {
			rows = append([][]string{{"id", *out.SubkeyID}}, rows...)
		}
		table(c.Stdout, rows)
		c.note("The key is shown this once.")
	})
	if err != nil || !save {
		return err
	}
	return c.save(name, key, false)
}
