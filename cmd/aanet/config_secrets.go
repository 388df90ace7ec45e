package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

const redacted = "[redacted]"

// Secret is text that no log, error or dump shows; Reveal is the only way to it.
type Secret struct{ text string }

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return s.text }

// IsZero tells whether it was left out.
func (s Secret) IsZero() bool { return s.text == "" }

// UnmarshalText takes the text as it is.
func (s *Secret) UnmarshalText(text []byte) error {
	s.text = string(text)
	return nil
}

// MarshalText hides the secret from JSON and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String hides the secret, but tells whether there is one.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// Format hides the secret from every verb of package fmt, %#v included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue hides the secret from package slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// DatabaseURL is a Postgres URL or keyword string; it hides itself since it may hold a password.
type DatabaseURL struct{ Secret }

// UnmarshalText accepts postgres://… and keyword strings such as "host=/run/pg dbname=aanet".
func (d *DatabaseURL) UnmarshalText(text []byte) error {
	value := string(text)
	isURL := strings.HasPrefix(value, "postgres://") || strings.HasPrefix(value, "postgresql://")
	if !isURL && (strings.Contains(value, "://") || !strings.Contains(value, "=")) {
		return errors.New("must be a Postgres URL, like postgres://user:password@host:5432/aanet")
	}
	return d.Secret.UnmarshalText(text)
}

// EncryptionKey is the key that secrets are encrypted with at rest: 32 bytes, or none at all.
type EncryptionKey struct{ Secret }

// UnmarshalText accepts 32 bytes in base64, standard or URL alphabet, with or without padding.
func (k *EncryptionKey) UnmarshalText(text []byte) error {
	value := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(string(text), "="))
	decoded, err := base64.RawStdEncoding.Strict().DecodeString(value)
	if err != nil || len(decoded) != 32 {
		return errors.New("must be 32 bytes in base64; make one with: openssl rand -base64 32")
	}
	k.text = string(decoded)
	return nil
}

// Bytes returns a copy of the 32 bytes, nil when there is no key.
func (k EncryptionKey) Bytes() []byte {
	if k.IsZero() {
		return nil
	}
	return []byte(k.text)
}
