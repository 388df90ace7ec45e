package api

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"strings"

	"github.com/google/uuid"
)

// A key is keyPrefix, 'o' or 's', the workspace, '_', the secret part, and a checksum over all before it.
const (
	keyPrefix          = "aan_"
	keyWorkspaceLength = 22 // base62 digits that hold any 128-bit id
	keySecretLength    = 43 // random base62 characters: 256 bits
	keyChecksumLength  = 6  // base62 digits that hold any 32-bit checksum
	keyLength          = len(keyPrefix) + 1 + keyWorkspaceLength + 1 + keySecretLength + keyChecksumLength

	keyOwnerMark  = 'o'
	keySubkeyMark = 's'
	keyRedacted   = "[key redacted]"
)

// Key is a well-formed credential. It says nothing about whether the key was ever issued: the store knows
// that by its hash. The secret itself is not kept, so that no way of printing a Key can show it.
type Key struct {
	Owner     bool      // an owner key; otherwise a sub-key
	Workspace uuid.UUID // the only tenant that the key can belong to
	Last4     string    // the last four characters, which may be stored and shown
	hash      [sha256.Size]byte
}

// NewKey makes the secret of a new key for a workspace. It reads at least 256 bits from random, which is
// crypto/rand.Reader outside tests, and fails only when that does.
func NewKey(random io.Reader, owner bool, workspace uuid.UUID) (string, error) {
	mark := byte(keySubkeyMark)
	if owner {
		mark = keyOwnerMark
	}
	key := make([]byte, 0, keyLength)
	key = append(key, keyPrefix...)
	key = append(key, mark)
	key = appendBase62ID(key, workspace)
	key = append(key, '_')
	key, err := appendBase62Random(key, random, keySecretLength)
	if err != nil {
		return "", fmt.Errorf("random bytes for a key: %w", err)
	}
	return string(appendKeyChecksum(key)), nil
}

// ParseKey reads a key. It is false for everything that NewKey cannot have made: a wrong length, character
// or checksum, or a workspace that is no 128-bit number.
func ParseKey(s string) (Key, bool) {
	rest, ok := strings.CutPrefix(s, keyPrefix)
	if !ok || len(s) != keyLength {
		return Key{}, false
	}
	mark, rest := rest[0], rest[1:]
	encoded, rest := rest[:keyWorkspaceLength], rest[keyWorkspaceLength:]
	separator, secret := rest[0], rest[1:1+keySecretLength]
	if mark != keyOwnerMark && mark != keySubkeyMark || separator != '_' || !isBase62(secret) {
		return Key{}, false
	}
	workspace, ok := parseBase62ID(encoded)
	if !ok {
		return Key{}, false
	}
	body := s[:keyLength-keyChecksumLength]
	if string(appendKeyChecksum([]byte(body))) != s {
		return Key{}, false
	}
	return Key{
		Owner:     mark == keyOwnerMark,
		Workspace: workspace,
		Last4:     s[keyLength-4:],
		hash:      sha256.Sum256([]byte(s)),
	}, true
}

// Hash is the SHA-256 of the whole key as it was written: what the store keeps in its place.
func (k Key) Hash() [32]byte { return k.hash }

// String hides the key.
func (k Key) String() string { return keyRedacted }

// GoString hides the key from %#v.
func (k Key) GoString() string { return keyRedacted }

// Format hides the key from every verb; %d and %x would otherwise print the fields.
func (k Key) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, keyRedacted) }

// LogValue hides the key from slog.
func (k Key) LogValue() slog.Value { return slog.StringValue(keyRedacted) }

// MarshalJSON hides the key.
func (k Key) MarshalJSON() ([]byte, error) { return []byte(`"` + keyRedacted + `"`), nil }

// ParseID reads an id in the only spelling that the service gives out: 36 characters, hyphenated, lower
// case. Any other spelling is false, which callers treat as an id that never existed.
func ParseID(s string) (uuid.UUID, bool) {
	if len(s) != 36 || strings.ContainsAny(s, "ABCDEF") {
		return uuid.UUID{}, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil
}

// appendKeyChecksum appends the CRC-32 (IEEE) of key, so that a typo is refused without asking the database.
func appendKeyChecksum(key []byte) []byte {
	sum := crc32.ChecksumIEEE(key)
	var encoded [keyChecksumLength]byte
	for i := keyChecksumLength - 1; i >= 0; i-- {
		encoded[i] = base62Alphabet[sum%62]
		sum /= 62
	}
	return append(key, encoded[:]...)
}

const base62Alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// base62Digit is the value of a character, or -1 for one that is not in the alphabet.
func base62Digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'A' <= c && c <= 'Z':
		return int(c-'A') + 10
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 36
	}
	return -1
}

func isBase62(s string) bool {
	for i := range len(s) {
		if base62Digit(s[i]) < 0 {
			return false
		}
	}
	return true
}

// appendBase62Random appends n characters, each uniform over the alphabet.
func appendBase62Random(dst []byte, random io.Reader, n int) ([]byte, error) {
	// Bytes from the largest multiple of 62 upwards are thrown away: keeping them would favour the first digits.
	const fair = 256 / 62 * 62
	var buffer [64]byte
	for n > 0 {
		if _, err := io.ReadFull(random, buffer[:]); err != nil {
			return nil, err
		}
		for _, b := range buffer {
			if b < fair && n > 0 {
				dst = append(dst, base62Alphabet[b%62])
				n--
			}
		}
	}
	return dst, nil
}

// appendBase62ID appends the id as one big-endian number in keyWorkspaceLength digits.
func appendBase62ID(dst []byte, id uuid.UUID) []byte {
	var encoded [keyWorkspaceLength]byte
	for i := keyWorkspaceLength - 1; i >= 0; i-- {
		remainder := 0
		for j, b := range id {
			remainder = remainder<<8 | int(b)
			id[j] = byte(remainder / 62)
			remainder %= 62
		}
		encoded[i] = base62Alphabet[remainder]
	}
	return append(dst, encoded[:]...)
}

// parseBase62ID undoes appendBase62ID; false for a character outside the alphabet or a number over 128 bits.
func parseBase62ID(s string) (uuid.UUID, bool) {
	var id uuid.UUID
	for i := range len(s) {
		carry := base62Digit(s[i])
		if carry < 0 {
			return uuid.UUID{}, false
		}
		for j := len(id) - 1; j >= 0; j-- {
			carry += int(id[j]) * 62
			id[j] = byte(carry)
			carry >>= 8
		}
		if carry != 0 {
			return uuid.UUID{}, false
		}
	}
	return id, true
}
