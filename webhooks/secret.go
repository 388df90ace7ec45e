package webhooks

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// secretPrefix marks a webhook's secret, so that secret scanners and libraries know it.
const secretPrefix = "whsec_"

// secretBytes are the random bytes of a secret.
const secretBytes = 32

// NewSecret makes a secret as it is shown to the owner.
func NewSecret() string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // never fails (crypto/rand)
	return secretPrefix + base64.StdEncoding.EncodeToString(raw)
}

// ErrSealed means that a secret was encrypted with another key than this process has.
var ErrSealed = errors.New("the secret was encrypted with another AANET_SECRET_KEY")

// keyIDBytes is the length of the name of a key in front of what it sealed.
const keyIDBytes = 4

// Sealer encrypts the secrets of webhooks at rest with AES-256-GCM. It is safe for concurrent use.
type Sealer struct {
	aead cipher.AEAD
	id   [keyIDBytes]byte
}

// NewSealer takes a key of 32 bytes.
func NewSealer(key []byte) (*Sealer, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("the key for secrets has %d bytes, not 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("key for secrets: %w", err)
	}
	s := &Sealer{}
	if s.aead, err = cipher.NewGCM(block); err != nil {
		return nil, fmt.Errorf("key for secrets: %w", err)
	}
	sum := sha256.Sum256(append([]byte("aanet key id\n"), key...))
	copy(s.id[:], sum[:])
	return s, nil
}

// EphemeralSealer has a random key that nobody keeps.
func EphemeralSealer() *Sealer {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	s, err := NewSealer(key)
	if err != nil {
		panic(err) // not with a key of 32 bytes
	}
	return s
}

// Seal encrypts a secret for one webhook: the key's name, a nonce, the ciphertext.
func (s *Sealer) Seal(workspace, webhook uuid.UUID, secret string) []byte {
	sealed := make([]byte, keyIDBytes+s.aead.NonceSize(), keyIDBytes+s.aead.NonceSize()+len(secret)+s.aead.Overhead())
	copy(sealed, s.id[:])
	_, _ = rand.Read(sealed[keyIDBytes:])
	return s.aead.Seal(sealed, sealed[keyIDBytes:], []byte(secret), owner(workspace, webhook))
}

// Open decrypts what Seal gave for the same webhook. ErrSealed: it was sealed with another key.
func (s *Sealer) Open(workspace, webhook uuid.UUID, sealed []byte) (string, error) {
	head := keyIDBytes + s.aead.NonceSize()
	if len(sealed) < head || [keyIDBytes]byte(sealed[:keyIDBytes]) != s.id {
		return "", ErrSealed
	}
	secret, err := s.aead.Open(nil, sealed[keyIDBytes:head], sealed[head:], owner(workspace, webhook))
	if err != nil {
		return "", fmt.Errorf("secret of webhook %s: %w", webhook, err)
	}
	return string(secret), nil
}

// owner binds a ciphertext to its row, so that it is of no use in another.
func owner(workspace, webhook uuid.UUID) []byte { return append(workspace[:], webhook[:]...) }
