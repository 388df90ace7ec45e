package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// keptProfiles is the content of profiles.json.
type keptProfiles struct {
	Current  string             `json:"current"`
	Profiles map[string]profile `json:"profiles"`
}

// profile is a key with the service it belongs to.
type profile struct {
	URL string `json:"url"`
	Key string `json:"key"`
}

// profileFile is where profiles are kept, readable for nobody else.
type profileFile string

var errProfileName = usageError{"a profile's name has 1 to 64 letters, digits, dots, dashes and underscores"}

var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// profiles is $XDG_CONFIG_HOME/aanet/profiles.json, below ~/.config by default.
func (c *call) profiles() profileFile {
	base := c.getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) { // as that standard says
		base = filepath.Join(c.getenv("HOME"), ".config")
	}
	return profileFile(filepath.Join(base, "aanet", "profiles.json"))
}

// load reads the profiles; a file that others can read is refused, since it holds keys.
func (f profileFile) load() (keptProfiles, error) {
	none := keptProfiles{Profiles: map[string]profile{}}
	file, err := os.Open(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("profiles: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return none, fmt.Errorf("profiles: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return none, fmt.Errorf("profiles: others can read %s, which holds keys: chmod 600 %[1]s, and rotate the keys if they may have been read", f)
	}
	kept := none
	if err := json.NewDecoder(file).Decode(&kept); err != nil {
		return none, fmt.Errorf("profiles: %s is damaged: %w", f, err)
	}
	if kept.Profiles == nil {
		kept.Profiles = map[string]profile{}
	}
	return kept, nil
}

// change reads the profiles, changes them and puts the new file in the place of the old one in one step. Commands that do so
// at once take turns, so that none loses the key of another.
func (f profileFile) change(how func(*keptProfiles) error) error {
	folder := filepath.Dir(string(f))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	turn, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	defer turn.Close() // which ends the turn
	if err := syscall.Flock(int(turn.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	kept, err := f.load()
	if err != nil {
		return err
	}
	if err := how(&kept); err != nil {
		return err
	}
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	next, err := os.CreateTemp(folder, ".profiles-") // for its owner only
	if err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	_, err = next.Write(append(text, '\n'))
	err = errors.Join(err, next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), string(f))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("profiles: %w", err), os.Remove(next.Name()))
	}
	return nil
}

// keep stores a key under a name, and uses it from now on when asked to.
func (f profileFile) keep(name string, p profile, use bool) error {
	if !profileName.MatchString(name) {
		return errProfileName
	}
	return f.change(func(k *keptProfiles) error {
		k.Profiles[name] = p
		if use || k.Current == "" {
			k.Current = name
		}
		return nil
	})
}
