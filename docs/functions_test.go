package docs_test

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rules of store/functions (docs/decisions/0001): one function a file, nothing that stalls other tenants, and every
// statement inside one workspace, so that the same functions run on a database distributed by workspace_id.

func TestSQLFunctions(t *testing.T) {
	schema := readSchema(t)
	functions := map[string]string{}
	for _, name := range sources(t) {
		if path.Dir(name) == "store/functions" && path.Ext(name) == ".sql" {
			functions[strings.TrimSuffix(path.Base(name), ".sql")] = read(t, name)
		}
	}
	immutable := map[string]bool{}
	for name, text := range functions {
		immutable[name] = regexp.MustCompile(`\bimmutable\b`).MatchString(bare(text))
	}
	for name, text := range functions {
		for _, fault := range functionFaults(name, text, schema.tenants, immutable) {
			t.Errorf("store/functions/%s.sql: %s", name, fault)
		}
	}
}

func TestTenantTablesAreKeyedByWorkspace(t *testing.T) {
	schema := readSchema(t)
	if !slices.Contains(schema.tenants, "workspaces") || !slices.Contains(schema.tenants, "activity") {
		t.Fatalf("the tables were not found: %v", schema.tenants)
	}
	for _, fault := range schema.faults {
		t.Error(fault)
	}
}

// schema is what the migrations say about tables.
type schema struct {
	tenants []string // tables whose primary key begins with workspace_id
	faults  []string // unique keys of tenant tables that begin otherwise
}

var (
	createTable  = regexp.MustCompile(`(?s)create table (?:if not exists )?(\w+)\s*\((.*?)\)[^,()]*;`)
	tenantKey    = regexp.MustCompile(`workspace_id\s+uuid\s+primary key|primary key\s*\(\s*workspace_id\b`)
	uniqueKey    = regexp.MustCompile(`unique\s*\(\s*(\w+)`)
	uniqueColumn = regexp.MustCompile(`\b(\w+)\s+\w+[^,()]*\bunique\s*(?:,|$)`)
	uniqueIndex  = regexp.MustCompile(`create unique index (?:concurrently )?(?:if not exists )?(\w+)\s+on\s+(\w+)\s*\(\s*(\w+)`)
)

func readSchema(t *testing.T) schema {
	t.Helper()
	var all strings.Builder
	for _, name := range sources(t) {
		if path.Dir(name) == "migrations" && strings.HasSuffix(name, ".up.sql") {
			all.WriteString(bare(read(t, name)))
		}
	}
	return parseSchema(all.String())
}

func parseSchema(migrations string) (s schema) {
	for _, table := range createTable.FindAllStringSubmatch(migrations, -1) {
		name, body := table[1], table[2]
		if !tenantKey.MatchString(body) {
			continue
		}
		s.tenants = append(s.tenants, name)
		for _, key := range append(uniqueKey.FindAllStringSubmatch(body, -1), uniqueColumn.FindAllStringSubmatch(body, -1)...) {
			if key[1] != "workspace_id" {
				s.faults = append(s.faults, fmt.Sprintf("%s: a unique key begins with %s, not with workspace_id", name, key[1]))
			}
		}
	}
	for _, index := range uniqueIndex.FindAllStringSubmatch(migrations, -1) {
		if slices.Contains(s.tenants, index[2]) && index[3] != "workspace_id" {
			s.faults = append(s.faults, fmt.Sprintf("%s: the unique index %s begins with %s, not with workspace_id", index[2], index[1], index[3]))
		}
	}
	return s
}

var (
	lineComment = regexp.MustCompile(`--[^\n]*`)
	longComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	literal     = regexp.MustCompile(`'(?:[^']|'')*'`)
	dollarTag   = regexp.MustCompile(`\$\w*\$`)
)

// bare is SQL in lower case without comments and the contents of string literals.
func bare(sql string) string {
	sql = longComment.ReplaceAllString(lineComment.ReplaceAllString(sql, ""), "")
	return strings.ToLower(literal.ReplaceAllString(sql, "''"))
}

var (
	createFunction = regexp.MustCompile(`\bcreate\s+or\s+replace\s+function\s+(\w+)\s*\(\s*(\w+\s+\w+)?`)
	createAny      = regexp.MustCompile(`\b(create|drop|alter|grant)\s`)
	forbidden      = []struct {
		pattern *regexp.Regexp
		why     string
	}{
		{regexp.MustCompile(`\bnotify\b|\bpg_notify\b`), "NOTIFY takes one lock for the whole server at commit"},
		{regexp.MustCompile(`advisory`), "an advisory lock ties tenants together"},
		{regexp.MustCompile(`\bmerge\s+into\b`), "MERGE"},
		{regexp.MustCompile(`\btemp(orary)?\s+(table|view|sequence)\b`), "a temporary table writes the catalog"},
		{regexp.MustCompile(`\)\s*\.\s*\*`), "(f()).* runs f once per column"},
		{regexp.MustCompile(`\bnextval\b`), "a sequence is shared by all tenants"},
		{regexp.MustCompile(`\bexecute\s+(''|format|p_)`), "dynamic SQL escapes these rules"},
	}
	clock        = regexp.MustCompile(`(?:^|[^\w])(now\s*\(|(?:clock|statement|transaction)_timestamp\b|current_(?:timestamp|date|time)\b|localtime(?:stamp)?\b|timeofday\b)`)
	setClause    = regexp.MustCompile(`(?s)\bset\s+(\w+\s*=.*?)(?:\bwhere\b|\breturning\b|\bfrom\b|$)`)
	call         = regexp.MustCompile(`\b(\w+)\s*\(`)
	volatile     = []string{"aanet_now", "random", "gen_random_uuid", "set_config", "pg_sleep"}
	ofWorkspace  = regexp.MustCompile(`\bworkspace_id\s*=|=\s*(?:\w+\.)?workspace_id\b|\busing\s*\(\s*workspace_id\b`)
	insertColumn = regexp.MustCompile(`\binsert\s+into\s+(\w+)(?:\s+as\s+\w+)?\s*\(\s*(\w+)`)
	insertAny    = regexp.MustCompile(`\binsert\s+into\s+(\w+)`)
)

// functionFaults checks one file of store/functions.
func functionFaults(name, text string, tenants []string, immutable map[string]bool) (faults []string) {
	report := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	sql := bare(text)

	created := createFunction.FindAllStringSubmatch(sql, -1)
	if len(created) != 1 || created[0][1] != name || len(createAny.FindAllString(sql, -1)) != 1 {
		report("must hold exactly: create or replace function %s", name)
	} else if regexp.MustCompile(`\badmit\s*\(`).MatchString(sql) && name != "admit" && created[0][2] != "p_workspace uuid" {
		report("a call's first argument is p_workspace uuid")
	}
	for _, f := range forbidden {
		if found := f.pattern.FindString(sql); found != "" {
			report("%s: %s", strings.TrimSpace(found), f.why)
		}
	}
	if found := clock.FindStringSubmatch(sql); found != nil && name != "aanet_now" {
		report("%s: the time comes from aanet_now()", found[1])
	}
	tables := regexp.MustCompile(`\b(?:from|join|update|using)\s+(?:only\s+)?(` + strings.Join(tenants, "|") + `)\b`)
	for statement := range strings.SplitSeq(dollarTag.ReplaceAllString(sql, ";"), ";") {
		short := strings.Join(strings.Fields(statement), " ")
		if len(short) > 90 {
			short = short[:90] + "…"
		}
		used := tables.FindAllStringSubmatch(statement, -1)
		if len(used) > len(ofWorkspace.FindAllString(statement, -1)) {
			report("%s must be filtered by workspace_id in: %s", used[0][1], short)
		}
		faults = append(faults, insertFaults(statement, short, tenants, tables)...)
		for _, set := range setClause.FindAllStringSubmatch(statement, -1) {
			for _, f := range call.FindAllStringSubmatch(set[1], -1) {
				pure, ours := immutable[f[1]]
				if slices.Contains(volatile, f[1]) || ours && !pure {
					report("%s is volatile: put it into a variable before: %s", f[1], short)
				}
			}
		}
	}
	return faults
}

func insertFaults(statement, short string, tenants []string, tables *regexp.Regexp) (faults []string) {
	at := insertAny.FindStringSubmatchIndex(statement)
	if at == nil {
		return nil
	}
	if tables.MatchString(statement[at[0]:]) {
		faults = append(faults, "an INSERT must not read a tenant table: "+short)
	}
	table := statement[at[2]:at[3]]
	columns := insertColumn.FindStringSubmatch(statement)
	if slices.Contains(tenants, table) && (columns == nil || columns[2] != "workspace_id") {
		faults = append(faults, "an INSERT names its columns, workspace_id first: "+short)
	}
	return faults
}

func TestSQLRulesRefuse(t *testing.T) {
	tenants, immutable := []string{"files", "keys", "workspaces"}, map[string]bool{"etag_of": true, "settle": false}
	for _, c := range []struct{ body, want string }{
		{"update files set etag = etag_of(1) where workspace_id = p_workspace and path = p_path;", ""},
		{"select * into k from keys k join files f using (workspace_id, path) where k.workspace_id = p_workspace;", ""},
		{"-- notify and now() in a comment\n perform 'merge into, now()';", ""},
		{"insert into files (workspace_id, path) values (p_workspace, 'a') on conflict (workspace_id, path) do update set etag = excluded.etag;", ""},
		{"update files set etag = p where path = p_path;", "files must be filtered by workspace_id"},
		{"delete from files where path = p_path;", "files must be filtered by workspace_id"},
		{"select * into k from keys k join files f on f.path = k.scope where k.workspace_id = p_workspace;", "must be filtered by workspace_id"},
		{"if exists (select 1 from files) then return; end if;", "files must be filtered by workspace_id"},
		{"insert into files (workspace_id, path) select workspace_id, path from files where workspace_id = p_workspace;", "must not read a tenant table"},
		{"insert into files (path, workspace_id) values ('a', p_workspace);", "workspace_id first"},
		{"insert into files values (p_workspace, 'a');", "names its columns"},
		{"update files set at = aanet_now() where workspace_id = p_workspace;", "aanet_now is volatile"},
		{"insert into files (workspace_id) values (w) on conflict (workspace_id) do update set x = settle(1);", "settle is volatile"},
		{"ts := now();", "the time comes from aanet_now()"},
		{"ts := current_timestamp;", "the time comes from aanet_now()"},
		{"perform pg_notify('a', 'b');", "NOTIFY takes one lock"},
		{"perform pg_advisory_xact_lock(1);", "an advisory lock"},
		{"create temp table x (a int);", "a temporary table"},
		{"merge into files using x on true when matched then delete;", "MERGE"},
		{"select (f(1)).* into a;", "runs f once per column"},
		{"execute 'select 1';", "dynamic SQL"},
	} {
		text := "create or replace function f(p_workspace uuid) returns void language plpgsql as $$ begin " + c.body + " end $$;"
		faults := functionFaults("f", text, tenants, immutable)
		if c.want == "" && len(faults) > 0 || c.want != "" && !strings.Contains(strings.Join(faults, "\n"), c.want) {
			t.Errorf("%s\n got  %q\n want %q", c.body, faults, c.want)
		}
	}
	for text, want := range map[string]string{
		"create or replace function g() returns void as $$ $$;":                                         "must hold exactly",
		"create or replace function f(a int) returns void as $$ begin x := admit(a); end $$;":           "first argument",
		"create or replace function f(p_workspace uuid) returns void as $$ $$; grant execute on f to x": "must hold exactly",
	} {
		if faults := functionFaults("f", text, tenants, immutable); !strings.Contains(strings.Join(faults, "\n"), want) {
			t.Errorf("%s: got %q, want %q", text, faults, want)
		}
	}
}

func TestSchemaRulesRefuse(t *testing.T) {
	s := parseSchema(bare(`
		create table a (workspace_id uuid not null, x text unique, primary key (workspace_id, x), unique (x, workspace_id));
		create table b (workspace_id uuid primary key, n numeric(12, 2) not null check (n in ('x'))) with (fillfactor = 40);
		create unique index b_n on b (n);
		create table local (tx text primary key, workspace_id uuid not null, unique (tx));`))
	if !slices.Equal(s.tenants, []string{"a", "b"}) || len(s.faults) != 3 {
		t.Errorf("tables %v, faults %q", s.tenants, s.faults)
	}
}
