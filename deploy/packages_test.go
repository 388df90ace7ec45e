package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aanet/deploy/programs"
)

// aptTrouble is an apt-get that fails the first times that it is asked for something: a lock is held, a mirror stumbles.
// What it installs is an empty program in a folder of its own.
const aptTrouble = `#!/bin/bash
echo "$DEBIAN_FRONTEND $*" >>"$NOTES"
count=$(grep -c "^noninteractive $1" "$NOTES")
if [[ $1 == update ]]; then exit $((count <= UPDATES_FAIL ? 100 : 0)); fi
for last; do :; done
[[ $(grep -c " $last$" "$NOTES") -le $INSTALLS_FAIL ]] && exit 100
name=$last
[[ $last == nodejs ]] && name=node
[[ $last == fonts-liberation ]] && name=chromium
[[ $last == libc6-dev ]] && name=gcc
printf '#!/bin/sh\n' >"$MADE/$name" && chmod +x "$MADE/$name"
`

// What the tests need is installed although apt-get is in trouble for a while, and what no list has is not waited for.
func TestPackagesComeThroughTrouble(t *testing.T) {
	programs.Shell(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("tools/packages.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		updates, installs int
		known             string
		rounds            int
		missing           string
	}{
		"all is well":               {0, 0, "all", 1, ""},
		"the lists are locked once": {1, 0, "all", 1, ""},
		"a mirror stumbles twice":   {0, 2, "all", 3, ""},
		"no list can be had":        {99, 99, "", 4, "gcc, chromium, node"},
		"no package can be had":     {0, 99, "", 1, "gcc, chromium, node"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			notes := filepath.Join(folder, "notes")
			for program, text := range map[string]string{
				"apt-get": aptTrouble, "apt-cache": "#!/bin/sh\n[ '" + c.known + "' = all ]\n", "id": "#!/bin/sh\necho 0\n",
				"sleep": "#!/bin/sh\n", "go": "#!/bin/sh\necho gcc\n", "grep": "", "chmod": "",
			} {
				file := filepath.Join(folder, program)
				if text == "" {
					real, err := exec.LookPath(program)
					if err == nil {
						err = os.Symlink(real, file)
					}
					if err != nil {
						t.Fatal(err)
					}
					continue
				}
				if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			made := t.TempDir()
			run := exec.CommandContext(t.Context(), bash, script)
			run.Env = []string{
				"PATH=" + folder + ":" + made, "NOTES=" + notes, "MADE=" + made,
				fmt.Sprint("UPDATES_FAIL=", c.updates), fmt.Sprint("INSTALLS_FAIL=", c.installs),
			}
			out, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			asked, err := os.ReadFile(notes)
			if err != nil {
				t.Fatal(err)
			}
			if rounds := strings.Count(string(asked), "noninteractive update"); rounds != c.rounds {
				t.Errorf("%d rounds, want %d:\n%s%s", rounds, c.rounds, asked, out)
			}
			if says := strings.Contains(string(out), "not installed: "+c.missing); says != (c.missing != "") {
				t.Errorf("it says\n%s", out)
			}
		})
	}
}
