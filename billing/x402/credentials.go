package x402

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// The ways in which a facilitator wants to know who asks.
const (
	AuthNone   = "none"
	AuthBearer = "bearer" // KeySecret is the token
	AuthCDP    = "cdp"    // Coinbase: KeySecret is an Ed25519 key in base64 (64 bytes) or a P-256 key in PEM
	AuthPayAI  = "payai"  // KeySecret is an Ed25519 key as PKCS #8 in base64, with or without the prefix payai_sk_
)

// tokenLife is how long a signed token lasts; both services allow 120 seconds at most.
const tokenLife = 120 * time.Second

// credentials put headers on a request to a facilitator.
type credentials func(r *http.Request, now time.Time) error

// newCredentials reads the key once, so that a wrong one is told at start. Its errors never show the key.
func newCredentials(f Facilitator) (credentials, error) {
	switch f.Auth {
	case AuthNone, "":
		return func(*http.Request, time.Time) error { return nil }, nil
	case AuthBearer:
		token := string(f.KeySecret)
		if token == "" || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
			return nil, errors.New("auth bearer needs a key_secret of printable characters")
		}
		return func(r *http.Request, _ time.Time) error {
			r.Header.Set("Authorization", "Bearer "+token)
			return nil
		}, nil
	case AuthCDP, AuthPayAI:
		if f.KeyID == "" || f.KeySecret == "" {
			return nil, fmt.Errorf("auth %s needs key_id and key_secret", f.Auth)
		}
		if f.Auth == AuthCDP {
			return cdpCredentials(f.KeyID, f.KeySecret)
		}
		return payaiCredentials(f.KeyID, f.KeySecret)
	}
	return nil, fmt.Errorf("auth must be %s, %s, %s or %s", AuthNone, AuthBearer, AuthCDP, AuthPayAI)
}

// cdpCredentials sign a token for one method and address each.
func cdpCredentials(keyID string, secret Secret) (credentials, error) {
	key, err := cdpKey(secret)
	if err != nil {
		return nil, err
	}
	return func(r *http.Request, now time.Time) error {
		nonce := make([]byte, 8)
		_, _ = rand.Read(nonce) // never fails
		token, err := signToken(key,
			map[string]any{"kid": keyID, "nonce": hex.EncodeToString(nonce)},
			map[string]any{
				"sub": keyID, "iss": "cdp", "aud": []string{"cdp_service"},
				"nbf": now.Unix(), "iat": now.Unix(), "exp": now.Add(tokenLife).Unix(),
				"uris": []string{r.Method + " " + r.URL.Host + r.URL.EscapedPath()},
			})
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Correlation-Context", "sdk_language=go,source=x402")
		return nil
	}, nil
}

func cdpKey(secret Secret) (crypto.Signer, error) {
	// A PEM that went through an environment file often has its line ends spelled out.
	if block, _ := pem.Decode([]byte(strings.ReplaceAll(string(secret), `\n`, "\n"))); block != nil {
		return p256Key(block)
	}
	raw, err := base64.StdEncoding.DecodeString(string(secret))
	if err != nil || len(raw) != ed25519.PrivateKeySize {
		return nil, errors.New("auth cdp: key_secret is neither 64 bytes in base64 nor a PEM")
	}
	key := ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])
	if !key.Equal(ed25519.PrivateKey(raw)) {
		return nil, errors.New("auth cdp: the halves of key_secret do not belong together")
	}
	return key, nil
}

func p256Key(block *pem.Block) (crypto.Signer, error) {
	var key any
	var err error
	if block.Type == "EC PRIVATE KEY" {
		key, err = x509.ParseECPrivateKey(block.Bytes)
	} else {
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if err != nil || !ok || ec.Curve != elliptic.P256() {
		return nil, errors.New("auth cdp: the PEM in key_secret is not a P-256 private key")
	}
	return ec, nil
}

func payaiCredentials(keyID string, secret Secret) (credentials, error) {
	der, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(secret), "payai_sk_"))
	if err != nil {
		return nil, errors.New("auth payai: key_secret is not base64")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("auth payai: key_secret is not an Ed25519 key as PKCS #8")
	}
	return func(r *http.Request, now time.Time) error {
		token, err := signToken(key, map[string]any{"kid": keyID}, map[string]any{
			"sub": keyID, "iss": "payai-merchant", "jti": rand.Text(),
			"iat": now.Unix(), "exp": now.Add(tokenLife).Unix(),
		})
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}, nil
}

// signToken makes a JSON Web Token: EdDSA or, with a P-256 key, ES256.
func signToken(key crypto.Signer, header, claims map[string]any) (string, error) {
	header["typ"] = "JWT"
	header["alg"] = "EdDSA"
	if _, p256 := key.(*ecdsa.PrivateKey); p256 {
		header["alg"] = "ES256"
	}
	h, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	c, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(c)
	signature, err := sign(key, []byte(text))
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func sign(key crypto.Signer, text []byte) ([]byte, error) {
	ec, p256 := key.(*ecdsa.PrivateKey)
	if !p256 {
		return key.Sign(nil, text, crypto.Hash(0))
	}
	digest := sha256.Sum256(text)
	r, s, err := ecdsa.Sign(rand.Reader, ec, digest[:])
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	const half = 32 // a token holds the two numbers side by side, not in ASN.1
	signature := make([]byte, 2*half)
	r.FillBytes(signature[:half])
	s.FillBytes(signature[half:])
	return signature, nil
}
