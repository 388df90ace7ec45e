package cli

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"

	"aanet/api/client"
)

func profileCommands() []*command {
	return []*command{
		{
			name: "profile list", group: groupHere, local: true, summary: "list the kept keys", run: runProfiles,
			detail:  "Lists the profiles; * is the one in use. Keys are not shown.",
			example: "aanet profile list",
		},
		{
			name: "profile use", group: groupHere, args: "NAME", min: 1, max: 1, local: true, summary: "use another profile from now on", run: runUseProfile,
			detail:  "Commands use the key of this profile unless --profile, --key-file or AANET_KEY names another.",
			example: "aanet profile use first",
		},
		{
			name: "profile add", group: groupHere, args: "NAME", min: 1, max: 1, local: true, summary: "keep a key, read from standard input", run: runAddProfile,
			detail:  "Reads a key from standard input and keeps it, with its service, in a file that nobody else can read.",
			example: "aanet create --trial --json | jq -r .owner_key | aanet profile add copy",
			flags:   []option{{"url", "URL", "the service that the key is for (AANET_URL, else http://127.0.0.1:8402)"}},
		},
		{
			name: "profile rm", group: groupHere, args: "NAME", min: 1, max: 1, local: true, summary: "forget a key", run: runRemoveProfile,
			detail:  "Removes a profile with its key from this machine. The key itself stays valid: see aanet keys revoke.",
			example: "aanet profile rm copy",
		},
		{
			name: "completion", group: groupHere, args: "SHELL", min: 1, max: 1, local: true, summary: "print completion for bash, zsh or fish", run: runCompletion,
			detail: "Prints a script for the shell to read when it starts. bash: eval \"$(aanet completion bash)\" in ~/.bashrc. zsh: the same in ~/.zshrc, after compinit. " +
				"fish: aanet completion fish > ~/.config/fish/completions/aanet.fish.",
			example: `eval "$(aanet completion bash)"`,
		},
	}
}

func runProfiles(c *call) error {
	kept, err := c.profiles().load()
	if err != nil {
		return err
	}
	rows := [][]string{{"", "NAME", "SERVICE", "WORKSPACE"}}
	for _, name := range slices.Sorted(maps.Keys(kept.Profiles)) {
		mark, p := "", kept.Profiles[name]
		if name == kept.Current {
			mark = "*"
		}
		rows = append(rows, []string{mark, name, p.URL, client.New(p.URL, p.Key).WorkspaceID()})
	}
	table(c.Stdout, rows)
	return nil
}

func noProfile(name string) error { return fmt.Errorf("there is no profile %q", name) }

func runUseProfile(c *call) error {
	return c.profiles().change(func(k *keptProfiles) error {
		if _, known := k.Profiles[c.arg(0)]; !known {
			return noProfile(c.arg(0))
		}
		k.Current = c.arg(0)
		return nil
	})
}

func runAddProfile(c *call) error {
	if !profileName.MatchString(c.arg(0)) {
		return errProfileName
	}
	if isTerminal(c.Stdin) {
		c.note("Paste the key and press Enter; it is not shown.")
		hide := exec.CommandContext(c.ctx, "stty", "-echo")
		hide.Stdin = os.Stdin
		if err := hide.Run(); err == nil {
			back := exec.Command("stty", "echo") // also when the context has ended
			back.Stdin = os.Stdin
			defer func() { _ = back.Run() }()
		}
	}
	key, err := readSecret("-", c.Stdin, keyBytesMax)
	if err != nil {
		return fmt.Errorf("the key: %w", err)
	}
	where := c.at(identity{})
	if client.New(where.url, key).WorkspaceID() == "" {
		return usagef("that is no key of AANet: it begins with aan_")
	}
	c.identity = where
	return c.save(c.arg(0), key, false)
}

func runRemoveProfile(c *call) error {
	return c.profiles().change(func(k *keptProfiles) error {
		if _, known := k.Profiles[c.arg(0)]; !known {
			return noProfile(c.arg(0))
		}
		delete(k.Profiles, c.arg(0))
		if k.Current == c.arg(0) {
			k.Current = ""
		}
		return nil
	})
}
