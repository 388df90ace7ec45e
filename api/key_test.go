package api

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"
)

var keyShape = regexp.MustCompile(`^aan_[os][0-9A-Za-z]{22}_[0-9A-Za-z]{49}$`)

func TestKeyRoundTrip(t *testing.T) {
	seen := map[string]bool{}
	for _, workspace := range []uuid.UUID{{}, {15: 1}, uuid.Max, uuid.New(), uuid.New()} {
		for _, owner := range []bool{true, false} {
			secret := newTestKey(t, owner, workspace)
			if !keyShape.MatchString(secret) || seen[secret] {
				t.Fatalf("key %q has the wrong shape or was given out before", secret)
			}
			seen[secret] = true
			key, ok := ParseKey(secret)
			if !ok || key.Owner != owner || key.Workspace != workspace || key.Last4 != secret[len(secret)-4:] {
				t.Fatalf("ParseKey(%q) = owner %v, workspace %v, last %q, %v", secret, key.Owner, key.Workspace, key.Last4, ok)
			}
			if key.Hash() != sha256.Sum256([]byte(secret)) {
				t.Fatal("the hash is not the SHA-256 of the whole key")
			}
		}
	}
}

// The format is a promise to secret scanners: this key must parse for ever.
func TestKeyFormatIsFixed(t *testing.T) {
	workspace := uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff")
	got, err := NewKey(bytes.NewReader(make([]byte, 64)), true, workspace)
	const want = "aan_o007pSo2b9TNg1cedavCe7z_00000000000000000000000000000000000000000002aY6VZ"
	if err != nil || got != want {
		t.Fatalf("NewKey = %q, %v; want %q", got, err, want)
	}
}

func TestEveryTypoIsRefused(t *testing.T) {
	secret := newTestKey(t, false, uuid.New())
	for i := range secret {
		for _, c := range []byte("0aZ_o \x00\xff") {
			typo := secret[:i] + string([]byte{c}) + secret[i+1:]
			if _, ok := ParseKey(typo); ok && typo != secret {
				t.Errorf("%q was accepted in place of %q", typo, secret)
			}
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	secret := newTestKey(t, true, uuid.New())
	withSum := func(body string) string { return string(appendKeyChecksum([]byte(body))) }
	tail := "_" + strings.Repeat("A", keySecretLength)
	for name, s := range map[string]string{
		"empty":                  "",
		"prefix only":            "aan_",
		"one short":              secret[:len(secret)-1],
		"one long":               secret + "0",
		"space around":           " " + secret[:len(secret)-1],
		"upper-case prefix":      "AAN_" + secret[4:],
		"20 kB":                  strings.Repeat("a", 20_000),
		"another mark":           withSum("aan_x" + strings.Repeat("0", 22) + tail),
		"no separator":           withSum("aan_o" + strings.Repeat("0", 22) + "A" + tail[1:]),
		"bad secret character":   withSum("aan_o" + strings.Repeat("0", 22) + "_-" + tail[2:]),
		"bad id character":       withSum("aan_o" + strings.Repeat("0", 21) + "!" + tail),
		"id over 128 bits":       withSum("aan_o" + strings.Repeat("z", 22) + tail),
		"id of exactly 2^128":    withSum("aan_o7n42DGM5Tflk9n8mt7Fhc8" + tail),
		"checksum of the prefix": withSum(secret[:40]),
	} {
		if _, ok := ParseKey(s); ok {
			t.Errorf("%s: %.90q was accepted", name, s)
		}
	}
	if _, ok := ParseKey(withSum("aan_o7n42DGM5Tflk9n8mt7Fhc7" + tail)); !ok {
		t.Error("the id 2^128-1 was refused")
	}
}

func TestKeyNeverPrintsItself(t *testing.T) {
	secret := newTestKey(t, true, uuid.New())
	key, _ := ParseKey(secret)
	hash := key.Hash()
	holder := struct{ inner Key }{key} // printed by reflection: methods of unexported fields are not called
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%t"} {
		fmt.Fprintf(&out, verb+"\n", key)
		fmt.Fprintf(&out, verb+"\n", &key)
	}
	fmt.Fprintln(&out, key, key.String(), key.GoString())
	slog.New(slog.NewTextHandler(&out, nil)).Info("text", "key", key)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "key", key)
	if err := json.NewEncoder(&out).Encode(map[string]any{"key": key, "pointer": &key}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), fmt.Sprintf("%x", hash)) || strings.Contains(out.String(), fmt.Sprint(hash)) {
		t.Errorf("the hash was printed:\n%s", &out)
	}
	fmt.Fprintf(&out, "%+v %#v %d", holder, holder, holder)
	if strings.Contains(out.String(), secret[28:]) || strings.Contains(out.String(), fmt.Sprintf("%x", secret)) {
		t.Errorf("the key was printed:\n%s", &out)
	}
}

func TestSecretCharactersAreUniform(t *testing.T) {
	// 0..255 once each: the 8 bytes from 248 up must be thrown away, and every character come four times.
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	got, err := appendBase62Random(nil, bytes.NewReader(all), 248)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(base62Alphabet) {
		if n := bytes.Count(got, []byte{base62Alphabet[i]}); n != 4 {
			t.Errorf("%q came %d times, want 4", base62Alphabet[i], n)
		}
	}
}

func TestNewKeyNeedsRandomness(t *testing.T) {
	broken := errors.New("no entropy")
	if s, err := NewKey(iotest.ErrReader(broken), true, uuid.New()); !errors.Is(err, broken) || s != "" {
		t.Errorf("NewKey = %q, %v; want the reader's error", s, err)
	}
	if s, err := NewKey(bytes.NewReader(make([]byte, 31)), true, uuid.New()); !errors.Is(err, io.ErrUnexpectedEOF) || s != "" {
		t.Errorf("NewKey on 31 bytes = %q, %v; want an error", s, err)
	}
}

func TestParseIDTakesOneSpelling(t *testing.T) {
	const canonical = "0123abcd-ef01-4234-8567-89abcdef0123"
	if id, ok := ParseID(canonical); !ok || id.String() != canonical {
		t.Errorf("ParseID(%q) = %v, %v", canonical, id, ok)
	}
	if _, ok := ParseID(uuid.Nil.String()); !ok {
		t.Error("the id of zeros is a well-formed id")
	}
	for _, s := range []string{
		"", "x", "../y", strings.ToUpper(canonical), "0123abcd-ef01-4234-8567-89abcdef012F",
		"{" + canonical + "}", "urn:uuid:" + canonical, strings.ReplaceAll(canonical, "-", ""),
		canonical + "0", canonical[1:], canonical + "\x00", " " + canonical[1:], canonical[:35] + "g",
		"0123abcde-f01-4234-8567-89abcdef0123", strings.Repeat("a", 36), strings.Repeat("0", 10_000),
	} {
		if id, ok := ParseID(s); ok {
			t.Errorf("ParseID(%.40q) = %v, want a refusal", s, id)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"", "aan_o", newTestKey(f, true, uuid.Nil), newTestKey(f, false, uuid.Max)} {
		f.Add(seed, []byte("0123456789abcdef"), true)
	}
	f.Fuzz(func(t *testing.T, s string, idBytes []byte, owner bool) {
		if key, ok := ParseKey(s); ok {
			again := []byte(s[:5])
			again = append(appendBase62ID(again, key.Workspace), s[27:71]...)
			if !keyShape.MatchString(s) || string(appendKeyChecksum(again)) != s {
				t.Fatalf("%q was accepted", s)
			}
		}
		if id, ok := ParseID(s); ok && id.String() != s {
			t.Fatalf("ParseID(%q) = %s", s, id)
		}
		var workspace uuid.UUID
		copy(workspace[:], idBytes)
		key, ok := ParseKey(newTestKey(t, owner, workspace))
		if !ok || key.Workspace != workspace || key.Owner != owner {
			t.Fatalf("a key of %v came back as one of %v, %v", workspace, key.Workspace, ok)
		}
	})
}

func newTestKey(t testing.TB, owner bool, workspace uuid.UUID) string {
	t.Helper()
	secret, err := NewKey(rand.Reader, owner, workspace)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}
