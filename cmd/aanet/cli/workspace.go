package cli

import (
	"time"

	"aanet/api/client"
)

func workspaceCommands() []*command {
	return []*command{
		{
			name: "create", group: groupOwner, args: "[LABEL]", max: 1, summary: "create a workspace", run: runCreate,
			detail: "Creates a workspace and prints its owner key, this once. With --trial it has 100 units and is gone after 24 hours; without, LABEL names it and " +
				"aanet fund adds money. --save keeps the key in a profile and uses it from now on.",
			example: "aanet create --trial --save first",
			flags:   []option{{"trial", "", "a trial workspace"}, {"save", "NAME", "keep the owner key in this profile, and use it"}},
		},
		{
			name: "delete", group: groupOwner, args: "WORKSPACE_ID", min: 1, max: 1, summary: "delete the workspace for good", run: runDelete,
			detail: "Deletes the workspace of the key with everything in it. Its id is asked for so that it is not another one. What is left of its balance is forfeited: see aanet refund request.",
		},
	}
}

// madeWorkspace is what both ways of creating one answer.
type madeWorkspace struct {
	id, label, key string
	expires        *time.Time
}

func runCreate(c *call) error {
	anyone, err := c.anyone()
	if err != nil {
		return err
	}
	name, save := c.values["save"]
	if save && !profileName.MatchString(name) { // before a key is made that could not be kept
		return errProfileName
	}
	var made madeWorkspace
	told := func() {
		rows := [][]string{{"workspace", made.id}, {"label", made.label}, {"owner key", made.key}}
		if made.expires != nil {
			rows = append(rows, []string{"gone after", moment(*made.expires)})
		}
		table(c.Stdout, rows)
		c.note("The key is shown this once: keep it. Whoever has it owns the workspace.")
	}
	switch {
	case c.on("trial") && c.arg(0) != "":
		return usagef("a trial workspace has a label of its own")
	case c.on("trial"):
		err = show(c, func(raw client.CallOption) (client.CreateTrialOut, error) {
			out, err := anyone.CreateTrialWorkspace(c.ctx, raw)
			made = madeWorkspace{out.WorkspaceID, out.Label, out.OwnerKey, &out.TrialExpiresAt}
			return out, err
		}, func(client.CreateTrialOut) { told() })
	case c.arg(0) == "":
		return usagef("usage: aanet create LABEL, or aanet create --trial")
	default:
		err = show(c, func(raw client.CallOption) (client.CreateWorkspaceOut, error) {
			out, err := anyone.CreateWorkspace(c.ctx, client.CreateWorkspaceIn{Label: c.arg(0)}, raw)
			made = madeWorkspace{out.WorkspaceID, out.Label, out.OwnerKey, nil}
			return out, err
		}, func(client.CreateWorkspaceOut) { told() })
	}
	if err != nil || !save {
		return err
	}
	return c.save(name, made.key, true)
}

// save keeps a key in a profile.
func (c *call) save(name, key string, use bool) error {
	if err := c.profiles().keep(name, profile{URL: c.identity.url, Key: key}, use); err != nil {
		return err
	}
	c.note("kept as profile %s", name)
	return nil
}

func runDelete(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	if owner.WorkspaceID() != c.arg(0) {
		return usagef("the key belongs to the workspace %s and not to %s", owner.WorkspaceID(), shown(c.arg(0)))
	}
	return show(c, func(raw client.CallOption) (client.DeleteWorkspaceOut, error) {
		return owner.DeleteWorkspace(c.ctx, raw)
	},
		func(out client.DeleteWorkspaceOut) {
			c.say("deleted %s, %s forfeited", out.WorkspaceID, units(out.ForfeitedUnits))
		})
}
