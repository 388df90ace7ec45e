package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"aanet/api/client"
)

const urlDefault = "http://127.0.0.1:8402"

// errNoKey says how to give a key.
var errNoKey = errors.New("no key: set AANET_KEY, use --key-file FILE, or keep one in a profile (aanet profile add NAME, or aanet create --save NAME)")

// identity is a service with a key, and the profile that both came from.
type identity struct{ url, key, profile string }

// keyBytesMax bounds what is read as a key.
const keyBytesMax = 4096

// identify finds key and service. A key goes only to the service it was kept with, unless --url says otherwise.
func (c *call) identify() (identity, error) {
	var who identity
	file, asked := c.values["key-file"], c.values["profile"]
	switch {
	case file != "" && asked != "":
		return who, usagef("--key-file and --profile both name a key")
	case file != "":
		return c.fromFile(file)
	case asked != "":
		return c.fromProfile(asked)
	case c.getenv("AANET_KEY") != "":
		return c.at(identity{key: strings.TrimSpace(c.getenv("AANET_KEY"))}), nil
	case c.getenv("AANET_KEY_FILE") != "":
		return c.fromFile(c.getenv("AANET_KEY_FILE"))
	}
	return c.fromProfile(c.getenv("AANET_PROFILE"))
}

// at fills in the service: --url, then that of the profile, then AANET_URL.
func (c *call) at(who identity) identity {
	for _, url := range []string{c.values["url"], who.url, c.getenv("AANET_URL"), urlDefault} {
		if url != "" {
			who.url = url
			break
		}
	}
	return who
}

func (c *call) fromFile(name string) (identity, error) {
	text, err := readSecret(name, c.Stdin, keyBytesMax)
	if err != nil {
		err = fmt.Errorf("the key: %w", err)
	}
	return c.at(identity{key: text}), err
}

// fromProfile takes a profile by its name, or with "" the one in use, if any.
func (c *call) fromProfile(name string) (identity, error) {
	kept, err := c.profiles().load()
	if err != nil {
		return identity{}, err
	}
	if name == "" {
		name = kept.Current
	}
	p, known := kept.Profiles[name]
	if name != "" && !known {
		return identity{}, fmt.Errorf("there is no profile %q: aanet profile list shows them", name)
	}
	return c.at(identity{url: p.URL, key: p.Key, profile: name}), nil
}

// readSecret reads a key or a signed payment from a file, or a line of standard input when the name is "-".
func readSecret(name string, stdin io.Reader, most int64) (string, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer file.Close()
		stdin = file
	}
	text, err := bufio.NewReader(io.LimitReader(stdin, most)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	secret := strings.TrimSpace(text)
	if secret == "" || strings.ContainsAny(secret, " \t\r") {
		return "", errors.New("one word on a line of its own is expected")
	}
	return secret, nil
}

// connect gives a client with the caller's key.
func (c *call) connect() (*client.Client, error) {
	who, err := c.identify()
	if err != nil {
		return nil, err
	}
	if who.key == "" {
		return nil, errNoKey
	}
	c.identity = who
	return client.New(who.url, who.key), nil
}

// anyone gives a client without a key, for what anybody may call.
func (c *call) anyone() (*client.Client, error) {
	who, err := c.identify()
	if err != nil {
		return nil, err
	}
	c.identity = who
	return client.New(who.url, ""), nil
}
