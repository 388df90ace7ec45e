// Package deploy_test checks what cannot be tried without a cluster: that the files are well-formed, name only what the
// service has, and that every alert is tested and explained.
package deploy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v2"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documents are those of a YAML file.
func documents(t *testing.T, name string) (all []map[string]any) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(read(t, name)))
	decoder.SetStrict(true)
	for {
		var d map[string]any
		err := decoder.Decode(&d)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, d)
	}
}

// files are those below deploy/ with one of the endings.
func files(t *testing.T, endings ...string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && slices.Contains(endings, filepath.Ext(name)) && !strings.Contains(name, "node_modules") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestFilesAreWellFormed(t *testing.T) {
	for _, name := range files(t, ".yaml", ".yml") {
		if len(documents(t, name)) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	for _, name := range files(t, ".json") {
		if !json.Valid([]byte(read(t, name))) {
			t.Errorf("%s is no JSON", name)
		}
	}
}

// Settings that deploy/ names are settings that there are.
func TestSettingsAreKnown(t *testing.T) {
	page := read(t, "../docs/configuration.md")
	found := 0
	for _, name := range append(files(t, ".yaml", ".service"), "Dockerfile") {
		for _, setting := range regexp.MustCompile(`\b(AANET_[A-Z_]+|DATABASE_URL)\b`).FindAllString(read(t, name), -1) {
			found++
			if !strings.Contains(page, "`"+setting+"`") {
				t.Errorf("%s names %s, which docs/configuration.md does not", name, setting)
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d settings were found", found)
	}
}

// metricsOfTheService are the names in the sources.
func metricsOfTheService(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		for _, found := range regexp.MustCompile(`"(aanet_[a-z_]+)"`).FindAllStringSubmatch(read(t, name), -1) {
			names[found[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestMetricsAreThere(t *testing.T) {
	known := metricsOfTheService(t)
	used := map[string]bool{}
	for _, name := range []string{"prometheus/rules.yaml", "prometheus/rules_test.yaml", "grafana/aanet.json"} {
		for _, metric := range regexp.MustCompile(`\baanet_[a-z_]+\b`).FindAllString(read(t, name), -1) {
			plain := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(metric, "")
			used[plain] = true
			if !known[metric] && !known[plain] {
				t.Errorf("%s uses %s, which the service does not have", name, metric)
			}
		}
	}
	if len(used) < 10 {
		t.Errorf("only %d metrics are used", len(used))
	}
}

// Every alert is explained in the runbook, and the tests of the rules show when it fires and that it can be quiet.
func TestAlertsAreExplainedAndTested(t *testing.T) {
	runbook, tests := read(t, "../docs/runbook.md"), read(t, "prometheus/rules_test.yaml")
	type rule struct {
		Alert       string            `yaml:"alert"`
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	}
	var rules struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "prometheus/rules.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	var count int
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			count++
			if want := "docs/runbook.md#" + strings.ToLower(r.Alert); r.Annotations["runbook"] != want || r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s: annotations %v, labels %v", r.Alert, r.Annotations, r.Labels)
			}
			if !strings.Contains(runbook, "\n### "+r.Alert+"\n") {
				t.Errorf("docs/runbook.md has no section %s", r.Alert)
			}
			quiet := strings.Contains(tests, "alertname: "+r.Alert+"}\n")
			fires := regexp.MustCompile(`alertname: ` + r.Alert + `\n +exp_alerts:`).MatchString(tests)
			if !quiet || !fires {
				t.Errorf("%s: shown to be quiet %v, to fire %v", r.Alert, quiet, fires)
			}
		}
	}
	if sections := strings.Count(runbook, "\n### AANet"); count == 0 || sections != count {
		t.Errorf("%d alerts, %d sections of alerts", count, sections)
	}
}

// Prometheus' own checker, where it is installed, evaluates the rules over the series of their tests.
func TestRulesAsPrometheusSeesThem(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian's package prometheus has it)")
	}
	for _, arguments := range [][]string{
		{"check", "rules", dashboardAsRules(t)}, {"check", "rules", "prometheus/rules.yaml"}, {"check", "config", "prometheus/prometheus.yaml"}, {"test", "rules", "prometheus/rules_test.yaml"},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, arguments...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
}

// dashboardAsRules is a file of rules with the queries of the dashboard, so that promtool parses them.
func dashboardAsRules(t *testing.T) string {
	t.Helper()
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(read(t, "grafana/aanet.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(target.Expr)
			rules = append(rules, rule{fmt.Sprintf("panel:%d", len(rules)), expr})
		}
	}
	if len(rules) < 20 {
		t.Errorf("the dashboard has %d queries", len(rules))
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// systemd's own checker, where it is installed, reads the unit; the binary stands elsewhere here.
func TestUnitAsSystemdSeesIt(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	unit := filepath.Join(t.TempDir(), "aanet.service")
	text := strings.ReplaceAll(read(t, "systemd/aanet.service"), "/usr/local/bin/aanet", "/bin/true")
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", unit)
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	ours := regexp.MustCompile(`(?m)^.*aanet\.service.*$`).FindAllString(said.String(), -1) // it tells of the machine's own units too
	if err != nil && len(ours) > 0 {
		t.Errorf("%v: %q", err, ours)
	}
}

// What Kubernetes would find only when it is too late.
func TestKubernetesNamesFit(t *testing.T) {
	kinds := map[string]map[any]any{}
	for _, d := range documents(t, "kubernetes/aanet.yaml") {
		kind, _ := d["kind"].(string)
		kinds[kind], _ = d["spec"].(map[any]any)
		if metadata, _ := d["metadata"].(map[any]any); metadata["name"] != "aanet" || d["apiVersion"] == nil {
			t.Errorf("%s: %v", kind, metadata)
		}
	}
	const labels = "map[app.kubernetes.io/name:aanet]"
	for path, want := range map[string]string{
		"Deployment.selector.matchLabels": labels, "Deployment.template.metadata.labels": labels, "Service.selector": labels,
		"PodDisruptionBudget.selector.matchLabels": labels, "NetworkPolicy.podSelector.matchLabels": labels,
		"Deployment.template.spec.securityContext.runAsNonRoot": "true",
	} {
		steps := strings.Split(path, ".")
		if got := walk(kinds[steps[0]], steps[1:]); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	text := read(t, "kubernetes/aanet.yaml")
	for _, use := range regexp.MustCompile(`(?:port|targetPort): (http|metrics)\b`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, "{name: "+use[1]+", containerPort: ") {
			t.Errorf("no port %s", use[1])
		}
	}
}

func walk(at any, steps []string) string {
	for _, step := range steps {
		m, _ := at.(map[any]any)
		at = m[step]
	}
	return fmt.Sprint(at)
}
