package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Config is everything that can be set from outside. Every field is one environment variable (tag env) and one flag,
// which is the variable's name without AANET_, in lower case with dashes. An empty value counts as not set.
// docs/configuration.md describes each; a test keeps the two together.
type Config struct {
	Listen        ListenAddress `env:"AANET_LISTEN" envDefault:"127.0.0.1:8402" help:"address of the API, MCP and dashboard (port 0: any free one)"`
	MetricsListen ListenAddress `env:"AANET_METRICS_LISTEN" envDefault:"127.0.0.1:9402" help:"address of /metrics"`
	PublicURL     PublicURL     `env:"AANET_PUBLIC_URL" help:"address that clients use; empty: the listening address"`
	LogLevel      slog.Level    `env:"AANET_LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`

	DatabaseURL       DatabaseURL   `env:"DATABASE_URL" help:"the Postgres database, or its pooler"`
	DatabaseDirectURL DatabaseURL   `env:"AANET_DATABASE_DIRECT_URL" help:"the same database without the pooler; empty: DATABASE_URL"`
	DataDir           string        `env:"AANET_DATA_DIR" envDefault:".aanet" help:"where aanet dev keeps its Postgres and its secret key"`
	Lanes             Lanes         `env:"AANET_LANES" envDefault:"8" help:"database connections that carry the metered calls, 1 to 256"`
	SecretKey         EncryptionKey `env:"AANET_SECRET_KEY" help:"32 bytes in base64; encrypts webhook secrets and kept answers at rest"`

	TrustedProxies Prefixes   `env:"AANET_TRUSTED_PROXIES" help:"CIDRs of proxies whose forwarded headers count, separated by commas"`
	AllowedHosts   Hosts      `env:"AANET_ALLOWED_HOSTS" help:"Host headers that are served, separated by commas; empty: any"`
	AllowedOrigins Origins    `env:"AANET_ALLOWED_ORIGINS" help:"browser origins that may call, separated by commas; empty: the own one only"`
	Admin          Switch     `env:"AANET_ADMIN" envDefault:"on" help:"on or off: the operator's dashboard at /admin"`
	RateLimits     RateLimits `env:"AANET_RATE_LIMITS" envDefault:"on" help:"on, off, or a JSON object of overrides"`
	TrialTTL       Duration   `env:"AANET_TRIAL_TTL" envDefault:"24h" help:"life of a trial workspace"`

	WebhookAllowPrivate PrivateAddresses `env:"AANET_WEBHOOK_ALLOW_PRIVATE" help:"host:port or CIDR that webhooks may reach although private, separated by commas"`
	WebhookCAFile       string           `env:"AANET_WEBHOOK_CA_FILE" help:"PEM file of extra roots trusted for webhook receivers"`
	WebhookRetry        Durations        `env:"AANET_WEBHOOK_RETRY" envDefault:"5s,30s,2m,5m,15m,30m,1h,2h,4h" help:"delay after the n-th failed attempt in a row; the last repeats"`

	Facilitators Facilitators `env:"AANET_FACILITATORS" help:"JSON list of x402 facilitators, the preferred first"`
	PayTo        PayTo        `env:"AANET_PAY_TO" help:"JSON object: CAIP-2 network to receiving address"`
	RPCURLs      RPCURLs      `env:"AANET_RPC_URLS" help:"JSON object: CAIP-2 network to JSON-RPC URL for chain checks"`
	PayoutFrom   PayoutFrom   `env:"AANET_PAYOUT_FROM" help:"JSON object: CAIP-2 network to the list of wallets that refunds are paid from"`
	RefundFeeUSD RefundFees   `env:"AANET_REFUND_FEE_USD" envDefault:"{\"base\":\"0.02\",\"solana\":\"0.01\"}" help:"JSON object: network to the fee kept of a refund"`
}

// setting is one field of Config as the outside names it.
type setting struct {
	field, variable, flag, defaultValue, help string
}

// settings lists the fields of Config in their order.
func settings() []setting {
	var list []setting
	for field := range reflect.TypeFor[Config]().Fields() {
		variable := field.Tag.Get("env")
		list = append(list, setting{
			field:        field.Name,
			variable:     variable,
			flag:         strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "AANET_"), "_", "-")),
			defaultValue: field.Tag.Get("envDefault"),
			help:         field.Tag.Get("help"),
		})
	}
	return list
}

// ConfigHelp describes every flag and variable with its default, one a line.
func ConfigHelp() string {
	var b strings.Builder
	for _, s := range settings() {
		fmt.Fprintf(&b, "  --%-22s %s [%s", s.flag, s.help, s.variable)
		if s.defaultValue != "" {
			fmt.Fprintf(&b, ", default %s", s.defaultValue)
		}
		b.WriteString("]\n")
	}
	return b.String()
}

// LoadConfig reads the configuration of one command ("serve", "dev" …) from its flags and the environment (KEY=VALUE
// strings as of os.Environ); a flag beats its variable. All faults come in one error, one a line, and name the
// variable without showing its value. It returns flag.ErrHelp when the arguments ask for help.
func LoadConfig(command string, args, environ []string) (Config, error) {
	known := settings()
	values, faults := readEnvironment(known, environ)
	flagFaults, err := readFlags(known, args, values)
	if err != nil {
		return Config{}, err
	}
	faults = append(faults, flagFaults...)

	var config Config
	if err := env.ParseWithOptions(&config, env.Options{Environment: values}); err != nil {
		faults = append(faults, parseFaults(known, err)...)
	}
	faults = append(faults, missing(command, values)...)
	if len(faults) > 0 {
		return Config{}, errors.New("configuration:\n  " + strings.Join(faults, "\n  "))
	}
	if config.DatabaseDirectURL.IsZero() {
		config.DatabaseDirectURL = config.DatabaseURL
	}
	return config, nil
}

// clientVariables are what the command line of a workspace, and what it runs, read.
var clientVariables = []string{"AANET_FENCING_TOKEN", "AANET_KEY", "AANET_KEY_FILE", "AANET_LOCK_NAME", "AANET_PROFILE", "AANET_URL"}

// readEnvironment keeps the variables that are ours. One that merely looks like ours is a fault, since a misspelt
// setting would otherwise be ignored in silence; AANET_TEST_… belongs to the tests and clientVariables to clients, whose
// shells may well be the ones that start a server or call its operator's commands.
func readEnvironment(known []setting, environ []string) (values map[string]string, faults []string) {
	values = map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case slices.ContainsFunc(known, func(s setting) bool { return s.variable == name }):
			values[name] = strings.TrimSpace(value)
		case slices.Contains(clientVariables, name) || strings.HasPrefix(name, "AANET_TEST_"):
		case strings.HasPrefix(name, "AANET_"):
			faults = append(faults, name+" is not a setting of this version")
		}
	}
	slices.Sort(faults)
	return values, faults
}

// readFlags puts --name=value and --name value over the variables' values.
func readFlags(known []setting, args []string, values map[string]string) (faults []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "-h" || arg == "-help" || arg == "--help" {
			return nil, flag.ErrHelp
		}
		dashed, value, hasValue := strings.Cut(arg, "=")
		name := strings.TrimPrefix(strings.TrimPrefix(dashed, "-"), "-")
		i := slices.IndexFunc(known, func(s setting) bool { return s.flag == name })
		switch {
		case name == dashed:
			faults = append(faults, fmt.Sprintf("unexpected argument %q", arg))
			continue
		case i < 0:
			faults = append(faults, fmt.Sprintf("unknown flag %s", dashed))
			continue
		}
		if !hasValue {
			if len(args) == 0 {
				faults = append(faults, fmt.Sprintf("--%s needs a value", name))
				continue
			}
			value, args = args[0], args[1:]
		}
		values[known[i].variable] = strings.TrimSpace(value)
	}
	return faults, nil
}

// parseFaults rewords what the parser reports: by variable instead of by Go field, and without Go's types.
func parseFaults(known []setting, err error) []string {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return []string{err.Error()}
	}
	var faults []string
	for _, one := range all.Errors {
		var parse env.ParseError
		if !errors.As(one, &parse) {
			faults = append(faults, one.Error())
			continue
		}
		i := slices.IndexFunc(known, func(s setting) bool { return s.field == parse.Name })
		reason := parse.Err.Error()
		if parse.Type == reflect.TypeFor[slog.Level]() {
			reason = "must be debug, info, warn or error"
		}
		faults = append(faults, known[i].variable+": "+reason)
	}
	return faults
}

// missing names what a command cannot run without. aanet dev makes its own database and key.
func missing(command string, values map[string]string) (faults []string) {
	switch command {
	case "serve":
		if values["DATABASE_URL"] == "" {
			faults = append(faults, "DATABASE_URL is required by serve (aanet dev brings a Postgres of its own)")
		}
		if values["AANET_SECRET_KEY"] == "" {
			faults = append(faults, "AANET_SECRET_KEY is required by serve; make one with: openssl rand -base64 32")
		}
	case "migrate":
		if values["DATABASE_URL"] == "" && values["AANET_DATABASE_DIRECT_URL"] == "" {
			faults = append(faults, "DATABASE_URL or AANET_DATABASE_DIRECT_URL is required by migrate")
		}
	}
	return faults
}

// valueFault is a fault of one value whose text repeats nothing of that value, so that it can be shown.
type valueFault string

func (f valueFault) Error() string { return string(f) }

// Duration is a length of time above zero, written like 90s or 24h.
type Duration time.Duration

// UnmarshalText accepts what time.ParseDuration accepts, above zero.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil || parsed <= 0 {
		return valueFault("must be a duration above zero, like 90s or 24h")
	}
	*d = Duration(parsed)
	return nil
}

// Switch is on or off.
type Switch bool

// UnmarshalText accepts on and off.
func (s *Switch) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on":
		*s = true
	case "off":
		*s = false
	default:
		return valueFault("must be on or off")
	}
	return nil
}

// Durations is a list of lengths of time, separated by commas.
type Durations []time.Duration

// UnmarshalText accepts one or more durations above zero.
func (d *Durations) UnmarshalText(text []byte) error {
	var list []time.Duration
	for item := range strings.SplitSeq(string(text), ",") {
		var one Duration
		if err := one.UnmarshalText([]byte(item)); err != nil {
			return errors.New("must be durations above zero separated by commas, like 5s,30s,2m")
		}
		list = append(list, time.Duration(one))
	}
	*d = list
	return nil
}
