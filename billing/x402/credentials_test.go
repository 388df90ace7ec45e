package x402

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

var tokenTime = time.Unix(1_790_000_000, 0)

// token is a JSON Web Token taken apart.
type token struct {
	signed        string
	signature     []byte
	Alg, Kid, Typ string
	Nonce         string
	Sub, Iss, Jti string
	Aud, URIs     []string
	Iat, Nbf, Exp int64
}

func readToken(t *testing.T, text string) (got token) {
	t.Helper()
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		t.Fatalf("not a token: %q", text)
	}
	for _, part := range parts[:2] {
		document, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(document, &got); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if got.signature, err = base64.RawURLEncoding.DecodeString(parts[2]); err != nil {
		t.Fatal(err)
	}
	got.signed = parts[0] + "." + parts[1]
	return got
}

// bearer signs a request as the facilitator's configuration says and returns the token.
func bearer(t *testing.T, f Facilitator, method, url string) string {
	t.Helper()
	sign, err := newCredentials(f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sign(r, tokenTime); err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		t.Fatalf("no bearer token: %q", r.Header.Get("Authorization"))
	}
	return text
}

func (got token) checkCDP(t *testing.T, uri string) {
	t.Helper()
	if got.Kid != "key-1" || got.Sub != "key-1" || got.Typ != "JWT" || got.Iss != "cdp" || got.Nonce == "" ||
		!slices.Equal(got.Aud, []string{"cdp_service"}) || !slices.Equal(got.URIs, []string{uri}) ||
		got.Iat != tokenTime.Unix() || got.Nbf != tokenTime.Unix() || got.Exp != tokenTime.Unix()+120 {
		t.Errorf("wrong token: %+v", got)
	}
}

const cdpURL = "https://api.cdp.coinbase.com/platform/v2/x402"

func TestCDPTokenByEd25519(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	f := Facilitator{Auth: AuthCDP, KeyID: "key-1", KeySecret: Secret(base64.StdEncoding.EncodeToString(private))}
	seen := map[string]bool{}
	for _, c := range []struct{ method, endpoint string }{{"POST", "verify"}, {"POST", "settle"}, {"GET", "supported"}} {
		got := readToken(t, bearer(t, f, c.method, cdpURL+"/"+c.endpoint))
		got.checkCDP(t, c.method+" api.cdp.coinbase.com/platform/v2/x402/"+c.endpoint)
		if got.Alg != "EdDSA" || !ed25519.Verify(public, []byte(got.signed), got.signature) {
			t.Errorf("%s: signature by %s is wrong", c.endpoint, got.Alg)
		}
		if seen[got.Nonce] {
			t.Error("a nonce came twice")
		}
		seen[got.Nonce] = true
	}
}

func TestCDPTokenByP256(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	asSEC1 := string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1}))
	asPKCS8 := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
	for _, secret := range []string{asSEC1, asPKCS8, strings.ReplaceAll(asSEC1, "\n", `\n`)} {
		f := Facilitator{Auth: AuthCDP, KeyID: "key-1", KeySecret: Secret(secret)}
		for range 20 { // so that a half with a leading zero byte is among them
			got := readToken(t, bearer(t, f, "POST", cdpURL+"/settle"))
			got.checkCDP(t, "POST api.cdp.coinbase.com/platform/v2/x402/settle")
			if got.Alg != "ES256" || len(got.signature) != 64 {
				t.Fatalf("%s with %d bytes", got.Alg, len(got.signature))
			}
			digest := sha256.Sum256([]byte(got.signed))
			r, s := new(big.Int).SetBytes(got.signature[:32]), new(big.Int).SetBytes(got.signature[32:])
			if !ecdsa.Verify(&private.PublicKey, digest[:], r, s) {
				t.Fatal("the signature is wrong")
			}
		}
	}
}

func TestPayAIToken(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", "payai_sk_"} {
		f := Facilitator{Auth: AuthPayAI, KeyID: "merchant", KeySecret: Secret(prefix + base64.StdEncoding.EncodeToString(der))}
		got := readToken(t, bearer(t, f, "POST", "https://facilitator.payai.network/verify"))
		if got.Alg != "EdDSA" || got.Kid != "merchant" || got.Sub != "merchant" || got.Iss != "payai-merchant" || got.Jti == "" ||
			got.Iat != tokenTime.Unix() || got.Exp != tokenTime.Unix()+120 {
			t.Errorf("wrong token: %+v", got)
		}
		if !ed25519.Verify(public, []byte(got.signed), got.signature) {
			t.Error("the signature is wrong")
		}
	}
}

// The example of RFC 8037, appendix A.4: Ed25519 signs the same text in the same way always.
func TestEd25519SignsAsTheStandardSays(t *testing.T) {
	seed, err := base64.RawURLEncoding.DecodeString("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
	if err != nil {
		t.Fatal(err)
	}
	got, err := sign(ed25519.NewKeyFromSeed(seed), []byte("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"))
	const want = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
	if err != nil || base64.RawURLEncoding.EncodeToString(got) != want {
		t.Errorf("%x, %v", got, err)
	}
}

func TestBearerToken(t *testing.T) {
	f := Facilitator{Auth: AuthBearer, KeySecret: "sk_test_1"}
	if got := bearer(t, f, "GET", "https://facilitator.example/supported"); got != "sk_test_1" {
		t.Errorf("sent %q", got)
	}
}

func TestWrongKeysAreToldAtStartAndNotShown(t *testing.T) {
	_, one, _ := ed25519.GenerateKey(nil)
	_, two, _ := ed25519.GenerateKey(nil)
	halves := base64.StdEncoding.EncodeToString(append(slices.Clone(one[:32]), two[32:]...))
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(p384)
	if err != nil {
		t.Fatal(err)
	}
	otherCurve := string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	ecDER, err := x509.MarshalPKCS8PrivateKey(p384)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ auth, id, secret string }{
		{"basic", "id", "hunter2secret"},
		{AuthBearer, "", ""},
		{AuthBearer, "", "hunter2\r\nX-Evil: secret"},
		{AuthCDP, "", halves},
		{AuthCDP, "id", ""},
		{AuthCDP, "id", "hunter2secret"},
		{AuthCDP, "id", base64.StdEncoding.EncodeToString([]byte("hunter2secret"))},
		{AuthCDP, "id", halves},
		{AuthCDP, "id", otherCurve},
		{AuthCDP, "id", "-----BEGIN EC PRIVATE KEY-----\naHVudGVy\n-----END EC PRIVATE KEY-----\n"},
		{AuthPayAI, "id", "payai_sk_hunter2secret!"},
		{AuthPayAI, "id", base64.StdEncoding.EncodeToString([]byte("hunter2secret"))},
		{AuthPayAI, "id", base64.StdEncoding.EncodeToString(ecDER)},
	} {
		o := Options{Now: time.Now, Facilitators: []Facilitator{{
			Name: "one", URL: "https://facilitator.example", Auth: c.auth, KeyID: c.id, KeySecret: Secret(c.secret),
		}}}
		_, err := New(o)
		if err == nil {
			t.Errorf("%s with the key %q was accepted", c.auth, c.secret)
			continue
		}
		if !strings.Contains(err.Error(), "facilitator 1 (one)") || (c.secret != "" && strings.Contains(err.Error(), c.secret)) {
			t.Errorf("the error says %q", err)
		}
	}
}

func TestSecretsHideThemselves(t *testing.T) {
	f := Facilitator{Name: "one", KeySecret: "hunter2secret"}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("configured", "facilitator", f, "secret", f.KeySecret)
	document, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%v %+v %#v %s %q %x", f, f, f, f.KeySecret, f.KeySecret, f.KeySecret) + log.String() + string(document)
	if strings.Contains(shown, "hunter2") || strings.Contains(shown, fmt.Sprintf("%x", "hunter2")) {
		t.Errorf("shown: %s", shown)
	}
	if !strings.Contains(shown, redacted) || Secret("").String() != "" {
		t.Error("whether there is a secret should be visible")
	}
}
