package webhooks

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestSecretsAtRest(t *testing.T) {
	s, err := NewSealer(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	secret := NewSecret()
	if len(secret) != len("whsec_")+44 || secret == NewSecret() {
		t.Errorf("secret %q", secret)
	}
	sealed := s.Seal(testWorkspace, testWebhook, secret)
	if bytes.Contains(sealed, []byte(secret)) || bytes.Equal(sealed, s.Seal(testWorkspace, testWebhook, secret)) {
		t.Error("the ciphertext tells the secret, or repeats")
	}
	if got, err := s.Open(testWorkspace, testWebhook, sealed); err != nil || got != secret {
		t.Errorf("opened %q, %v", got, err)
	}
	if _, err := s.Open(testWorkspace, uuid.New(), sealed); err == nil {
		t.Error("it opens for another webhook")
	}
	for i := range sealed {
		altered := bytes.Clone(sealed)
		altered[i] ^= 1
		if _, err := s.Open(testWorkspace, testWebhook, altered); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("altered at byte %d: %v", i, err)
		}
	}
	for _, short := range [][]byte{nil, sealed[:3], sealed[:16], sealed[:20]} {
		if _, err := s.Open(testWorkspace, testWebhook, short); err == nil {
			t.Errorf("%d bytes open", len(short))
		}
	}
	if _, err := EphemeralSealer().Open(testWorkspace, testWebhook, sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("another key: %v", err)
	}
	if _, err := NewSealer([]byte("short")); err == nil {
		t.Error("a short key is taken")
	}
}
