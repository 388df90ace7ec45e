package docs_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is the direction of imports: cmd → api/{rest,mcp,admin} → api → webhooks → billing → store. A folder with Go
// code and no row here fails, so that a new one is a decision. Tests may import what they compare.
var mayImport = map[string][]string{
	"cmd/aanet": {"api", "api/admin", "api/client", "api/clientgen", "api/mcp", "api/operators", "api/rest", "billing", "billing/chain", "billing/deposits", "billing/refunds",
		"billing/x402", "cmd/aanet/cli", "store", "store/jobs", "store/pgserver", "store/schema", "webhooks"},
	"cmd/aanet/cli":         {"api/client", "billing"},
	"api/rest":              {"api", "api/negotiate", "api/web", "api/web/chart", "billing"},
	"api/mcp":               {"api", "api/negotiate", "billing"},
	"api/negotiate":         {},
	"api/admin":             {"api", "api/operators", "api/web", "api/web/chart", "billing", "billing/deposits", "billing/refunds", "billing/x402", "store", "webhooks"},
	"api/operators":         {"api", "api/buckets", "store"},
	"api/buckets":           {},
	"api/web":               {"api/web/chart", "billing"},
	"api/web/chart":         {},
	"api/web/browsertest":   {"deploy/programs"}, // no row names it: it is for tests
	"api/rest/openapitest":  {"api/rest"},
	"api/client":            {},
	"api/client/clienttest": {"api", "api/apitest", "api/rest"},
	"api/clientgen":         {"api"},
	"api":                   {"api/buckets", "billing", "billing/deposits", "billing/refunds", "billing/x402", "store", "webhooks"},
	"api/apitest":           {"api", "billing", "billing/deposits", "billing/x402", "billing/x402/facilitatortest", "store", "store/storetest"},
	"webhooks":              {"billing", "store"},
	"billing":               {"store"},

	"billing/x402":                 {"billing"},
	"billing/deposits":             {"billing", "billing/x402", "store"},
	"billing/refunds":              {"billing", "billing/x402", "store"},
	"billing/x402/facilitatortest": {},
	"billing/chain":                {"billing", "billing/x402"},
	"billing/chaintest":            {"billing", "billing/x402", "deploy/programs"}, // no row names it: it is for tests

	"store":                        {"store/functions", "store/schema"},
	"store/functions":              {},
	"store/jobs":                   {"store", "store/schema"},
	"store/schema":                 {"migrations", "store/functions"},
	"store/pgserver":               {},
	"store/storetest":              {"migrations", "store", "store/functions", "store/pgserver", "store/schema"},
	"store/storetest/withpostgres": {"store/pgserver", "store/storetest"},
	"store/storetest/plpgsqlcheck": {"store", "store/functions", "store/schema", "store/storetest"},
	"migrations":                   {},
	"docs":                         {},
	"deploy":                       {},
	"docs/snippets":                {},
	"deploy/programs":              {}, // what tests run that is not ours
}

// confined are libraries that only some folders may know, so that replacing one stays a small change.
var confined = []struct {
	library string
	folders []string
	inTests bool // tests elsewhere may use it, as a client
}{
	{"github.com/jackc/pgx/", []string{"store", "cmd"}, false},
	{"github.com/labstack/echo/", []string{"api/rest", "api/admin", "cmd"}, false},
	{"github.com/modelcontextprotocol/go-sdk/", []string{"api/mcp", "cmd"}, true},
	{"github.com/chromedp/", []string{"api/web/browsertest"}, false},
	{"github.com/ethereum/", []string{"billing/chaintest"}, false},
	{"github.com/gagliardetto/", []string{"billing/chaintest"}, false},
	{"github.com/x402-foundation/x402/go/mechanisms/", []string{"billing/chaintest"}, false},
}

func TestImports(t *testing.T) {
	for _, f := range goFiles(t) {
		row, known := mayImport[f.folder]
		if !known {
			t.Errorf("%s: no row in the table of imports", f.name)
		}
		for _, spec := range f.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if fault := importFault(f, row, imported); fault != "" {
				t.Errorf("%s imports %s: %s", f.name, imported, fault)
			}
		}
	}
}

func importFault(f goFile, row []string, imported string) string {
	if own, ok := strings.CutPrefix(imported, "aanet/"); ok {
		if !f.isTest && !slices.Contains(row, own) {
			return "against the direction of imports"
		}
		return ""
	}
	if f.folder == "api/client" && !f.isTest && strings.Contains(imported, ".") {
		return "the client needs nothing but the standard library"
	}
	for _, c := range confined {
		allowed := slices.ContainsFunc(c.folders, func(top string) bool { return within(f.folder, top) })
		if strings.HasPrefix(imported, c.library) && !allowed && !(c.inTests && f.isTest) {
			return "only for " + strings.Join(c.folders, ", ")
		}
	}
	return ""
}

func TestImportRulesRefuse(t *testing.T) {
	for _, c := range []struct {
		folder   string
		isTest   bool
		imported string
		refused  bool
	}{
		{"api", false, "aanet/store", false},
		{"store", false, "aanet/api", true},
		{"store", true, "aanet/store/storetest", false},
		{"api", false, "github.com/jackc/pgx/v5", true},
		{"api", true, "github.com/jackc/pgx/v5", true},
		{"store/schema", false, "github.com/jackc/pgx/v5", false},
		{"api/mcp", false, "github.com/labstack/echo/v4", true},
		{"api", true, "github.com/modelcontextprotocol/go-sdk/mcp", false},
		{"api/client", false, "github.com/google/uuid", true},
		{"api/client", false, "net/http", false},
	} {
		fault := importFault(goFile{folder: c.folder, isTest: c.isTest}, mayImport[c.folder], c.imported)
		if (fault != "") != c.refused {
			t.Errorf("%s (test: %v) imports %s: %q", c.folder, c.isTest, c.imported, fault)
		}
	}
}
