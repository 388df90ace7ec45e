package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"aanet/api"
)

const testSecretKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

func TestConfigDefaults(t *testing.T) {
	config, err := LoadConfig("dev", nil, []string{"PATH=/bin", "AANET_LANES=", "AANET_TEST_DATABASE_URL=x", "AANET_KEY=y", "AANET_URL=z", "AANET_PROFILE=p", "AANET_KEY_FILE=f", "AANET_LOCK_NAME=l", "AANET_FENCING_TOKEN=1"})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Listen: "127.0.0.1:8402", MetricsListen: "127.0.0.1:9402", LogLevel: slog.LevelInfo,
		DataDir: ".aanet", Lanes: 8, Admin: true, RateLimits: RateLimits(api.DefaultLimits()), TrialTTL: Duration(24 * time.Hour),
		WebhookRetry: Durations{5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute,
			30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour},
		RefundFeeUSD: RefundFees{Base: "0.02", Solana: "0.01"},
	}
	if !reflect.DeepEqual(config, want) {
		t.Errorf("got  %+v\nwant %+v", config, want)
	}
}

func TestConfigValues(t *testing.T) {
	all := []string{
		"DATABASE_URL=postgres://a:b@db/aanet", "AANET_SECRET_KEY=" + testSecretKey, "AANET_LOG_LEVEL=debug",
		"AANET_PUBLIC_URL=https://aanet.example/", "AANET_TRUSTED_PROXIES=10.1.2.3/8, 192.0.2.1",
		"AANET_ALLOWED_HOSTS=AANet.example,127.0.0.1:8402", "AANET_ALLOWED_ORIGINS=https://app.example",
		`AANET_RATE_LIMITS={"key_rate":1000,"trial_per_hour":1}`, "AANET_TRIAL_TTL=90m", "AANET_WEBHOOK_RETRY=1s, 2s",
		"AANET_WEBHOOK_ALLOW_PRIVATE=LOCALHOST:9000,10.0.0.0/8",
		`AANET_FACILITATORS=[{"name":"a","url":"http://127.0.0.1:1","auth":"payai","key_id":"i","key_secret":"s",` +
			`"networks":["eip155:8453"],"timeout":"2s"},{"name":"b","url":"https://f.example/x402"}]`,
		`AANET_PAY_TO={"eip155:8453":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"}`,
		`AANET_RPC_URLS={"eip155:8453":"https://rpc.example/key?x=1"}`, `AANET_REFUND_FEE_USD={"solana":"0.005"}`,
	}
	config, err := LoadConfig("serve", []string{"--listen", ":0", "-lanes=3", "--trial-ttl=2h"}, all)
	if err != nil {
		t.Fatal(err)
	}
	limits := RateLimits(api.DefaultLimits())
	limits.KeyRate, limits.TrialPerHour = 1000, 1
	for name, c := range map[string]struct{ got, want any }{
		"a flag":                    {config.Listen, ListenAddress(":0")},
		"a flag with one dash":      {config.Lanes, Lanes(3)},
		"a flag beats its variable": {config.TrialTTL, Duration(2 * time.Hour)},
		"key":                       {string(config.SecretKey.Bytes()), "0123456789abcdef0123456789abcdef"},
		"direct URL falls back":     {config.DatabaseDirectURL.Reveal(), "postgres://a:b@db/aanet"},
		"log level":                 {config.LogLevel, slog.LevelDebug},
		"public URL":                {config.PublicURL, PublicURL("https://aanet.example")},
		"proxies":                   {config.TrustedProxies, Prefixes{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32")}},
		"hosts":                     {config.AllowedHosts, Hosts{"aanet.example", "127.0.0.1:8402"}},
		"origins":                   {config.AllowedOrigins, Origins{"https://app.example"}},
		"limits":                    {config.RateLimits, limits},
		"retry":                     {config.WebhookRetry, Durations{time.Second, 2 * time.Second}},
		"private addresses":         {config.WebhookAllowPrivate, PrivateAddresses{[]string{"localhost:9000"}, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}},
		"pay to":                    {config.PayTo["eip155:8453"], "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
		"RPC URL":                   {config.RPCURLs["eip155:8453"].Reveal(), "https://rpc.example/key?x=1"},
		"fees keep the other's":     {config.RefundFeeUSD, RefundFees{"0.02", "0.005"}},
		"facilitator":               {config.Facilitators[0], Facilitator{"a", "http://127.0.0.1:1", "payai", "i", Secret{"s"}, []string{"eip155:8453"}, Duration(2 * time.Second)}},
		"facilitator with defaults": {config.Facilitators[1], Facilitator{Name: "b", URL: "https://f.example/x402", Auth: "none", Timeout: Duration(90 * time.Second)}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %#v, want %#v", name, c.got, c.want)
		}
	}
}

func TestConfigFaults(t *testing.T) {
	for _, c := range []struct{ entry, want string }{
		{"AANET_LISTEN=8402", "AANET_LISTEN: must be host:port"},
		{"AANET_METRICS_LISTEN=:99999", "AANET_METRICS_LISTEN: must end in a port"},
		{"AANET_PUBLIC_URL=aanet.example", "AANET_PUBLIC_URL: must be an absolute"},
		{"AANET_LOG_LEVEL=loud", "AANET_LOG_LEVEL: must be debug, info, warn or error"},
		{"AANET_LANES=0", "AANET_LANES: must be a whole number from 1 to 256"},
		{"DATABASE_URL=mysql://a=b", "DATABASE_URL: must be a Postgres URL"},
		{"AANET_SECRET_KEY=c2hvcnQ=", "AANET_SECRET_KEY: must be 32 bytes in base64"},
		{"AANET_TRUSTED_PROXIES=proxy", `AANET_TRUSTED_PROXIES: "proxy" is not a CIDR`},
		{"AANET_ALLOWED_HOSTS=https://x", `AANET_ALLOWED_HOSTS: "https://x" is not a host`},
		{"AANET_ALLOWED_ORIGINS=https://x/", `AANET_ALLOWED_ORIGINS: "https://x/" is not an origin`},
		{"AANET_RATE_LIMITS=maybe", "AANET_RATE_LIMITS: must be on, off or a JSON object: not valid JSON at byte 0"},
		{`AANET_RATE_LIMITS={"key_rat":1}`, "AANET_RATE_LIMITS: must be on, off or a JSON object: /key_rat is not known"},
		{`AANET_RATE_LIMITS={"key_rate":0}`, "AANET_RATE_LIMITS: key_rate must be a whole number from 1"},
		{`AANET_RATE_LIMITS={"key_rate":1.5}`, "AANET_RATE_LIMITS: key_rate must be a whole number from 1"},
		{`AANET_RATE_LIMITS={"key_burst":1.5}`, "/key_burst has the wrong type"},
		{`AANET_RATE_LIMITS={"key_rate":"x"}`, "/key_rate has the wrong type"},
		{`AANET_RATE_LIMITS={"key_rate":1,"key_rate":2}`, "not valid JSON"},
		{"AANET_TRIAL_TTL=-1h", "AANET_TRIAL_TTL: must be a duration above zero"},
		{"AANET_WEBHOOK_RETRY=5s,,1m", "AANET_WEBHOOK_RETRY: must be durations above zero"},
		{"AANET_WEBHOOK_ALLOW_PRIVATE=10.0.0.1", `AANET_WEBHOOK_ALLOW_PRIVATE: "10.0.0.1" is neither host:port nor a CIDR`},
		{`AANET_FACILITATORS=[{"name":"a","url":"http://f.example"}]`, "AANET_FACILITATORS: entry 1: url must be https"},
		{`AANET_FACILITATORS=[{"name":"a","url":"https://f","auth":"cdp","key_secret":"s"}]`, "entry 1: auth cdp needs key_id"},
		{`AANET_FACILITATORS=[{"name":"a","url":"https://f","auth":"bearer"}]`, "entry 1: auth bearer needs key_secret"},
		{`AANET_FACILITATORS=[{"name":"a","url":"https://f","timeout":"soon"}]`, "/0/timeout must be a duration above zero"},
		{`AANET_FACILITATORS=[{"name":"a","url":"https://f"},{"name":"a","url":"https://g"}]`, `entry 2: the name "a" is used twice`},
		{`AANET_FACILITATORS=[{"name":"a","url":"https://f","networks":["base"]}]`, `entry 1: "base" is not a CAIP-2 network`},
		{`AANET_PAY_TO={"eip155:8453":"0x1"}`, "AANET_PAY_TO: eip155:8453: not an address of this network"},
		{`AANET_RPC_URLS={"eip155:8453":"rpc"}`, "AANET_RPC_URLS: eip155:8453: must be an absolute"},
		{`AANET_REFUND_FEE_USD={"base":"2e-2"}`, "AANET_REFUND_FEE_USD: fees must be decimal strings"},
		{`AANET_REFUND_FEE_USD={"polygon":"1"}`, "AANET_REFUND_FEE_USD: must be a JSON object like"},
		{"AANET_LISTN=:1", "AANET_LISTN is not a setting of this version"},
	} {
		_, err := LoadConfig("dev", nil, []string{c.entry})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got  %v\n want %s", c.entry, err, c.want)
		}
	}
}

func TestConfigReportsEveryFaultAtOnce(t *testing.T) {
	_, err := LoadConfig("serve", []string{"now", "--port=1", "--trial-ttl=x", "--lanes"}, []string{"AANET_LISTEN=x", "AANET_B=1", "AANET_A=1"})
	want := []string{
		"configuration:",
		"AANET_A is not a setting of this version",
		"AANET_B is not a setting of this version",
		`unexpected argument "now"`,
		"unknown flag --port",
		"--lanes needs a value",
		"AANET_LISTEN: must be host:port, like 127.0.0.1:8402",
		"AANET_TRIAL_TTL: must be a duration above zero, like 90s or 24h",
		"DATABASE_URL is required by serve (aanet dev brings a Postgres of its own)",
		"AANET_SECRET_KEY is required by serve; make one with: openssl rand -base64 32",
	}
	if err == nil || err.Error() != strings.Join(want, "\n  ") {
		t.Errorf("got:\n%v\nwant:\n%s", err, strings.Join(want, "\n  "))
	}
}

func TestConfigNeedsByCommand(t *testing.T) {
	for command, wantOK := range map[string]bool{"serve": false, "migrate": false, "dev": true, "operator": true} {
		if _, err := LoadConfig(command, nil, nil); (err == nil) != wantOK {
			t.Errorf("%s without any setting: %v", command, err)
		}
	}
	if _, err := LoadConfig("serve", []string{"--lanes=x", "--help"}, nil); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
}

// No way of printing a configuration, or a fault in it, may show what is secret in it.
func TestConfigHidesSecrets(t *testing.T) {
	environ := []string{
		"DATABASE_URL=postgres://u:hunter2@db/aanet", "AANET_SECRET_KEY=" + testSecretKey,
		`AANET_FACILITATORS=[{"name":"a","url":"https://f.example","auth":"bearer","key_secret":"hunter2"}]`,
		`AANET_RPC_URLS={"eip155:8453":"https://rpc.example/hunter2"}`,
	}
	config, err := LoadConfig("serve", nil, environ)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("start", "config", config, "key", config.SecretKey)
	_, fault := LoadConfig("dev", nil, []string{
		"DATABASE_URL=hunter2", "AANET_SECRET_KEY=hunter2", `AANET_RPC_URLS={"eip155:8453":"hunter2"}`,
		`AANET_FACILITATORS=[{"name":"a","key_secret":{"hunter2":1}}]`, "AANET_X=hunter2",
	})
	for way, text := range map[string]string{
		"%v": fmt.Sprintf("%v", config), "%+v": fmt.Sprintf("%+v", config), "%#v": fmt.Sprintf("%#v", config),
		"%x": fmt.Sprintf("%x", config.SecretKey), "json": string(asJSON), "slog": logged.String(), "fault": fault.Error(),
	} {
		for _, secret := range []string{"hunter2", "0123456789abcdef", fmt.Sprintf("%x", "0123456789abcdef"), testSecretKey} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %s: %s", way, secret, text)
			}
		}
	}
}

// Each setting has a row "| `VARIABLE` | `--flag` | default | …" in the page, with the default that the program uses.
func TestConfigurationPageIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `") {
			cells := strings.Split(strings.TrimSpace(line), " | ")
			rows[strings.Trim(cells[0], "| `")] = cells
		}
	}
	for _, s := range settings() {
		row := rows[s.variable]
		delete(rows, s.variable)
		wantDefault := "none"
		if s.defaultValue != "" {
			wantDefault = "`" + s.defaultValue + "`"
		}
		if len(row) < 4 || row[1] != "`--"+s.flag+"`" || row[2] != wantDefault || len(row[3]) < 20 {
			t.Errorf("%s: want a row with `--%s` and default %s, have %q", s.variable, s.flag, wantDefault, row)
		}
	}
	for name, row := range rows {
		limit, isLimit := limitDefault(name)
		if !isLimit || row[1] != fmt.Sprint(limit) {
			t.Errorf("the page describes %s with default %s, which is no setting with this default", name, row[1])
		}
	}
}

func limitDefault(name string) (any, bool) {
	limits := reflect.ValueOf(api.DefaultLimits())
	for field, value := range limits.Fields() {
		if field.Tag.Get("json") == name {
			return value.Convert(reflect.TypeFor[int64]()), true
		}
	}
	return nil, false
}

func TestConfigHelpNamesEverything(t *testing.T) {
	help := ConfigHelp()
	for _, s := range settings() {
		if !strings.Contains(help, "--"+s.flag+" ") || !strings.Contains(help, s.variable) {
			t.Errorf("help lacks %s", s.variable)
		}
	}
}
