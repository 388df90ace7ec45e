// Package docs_test holds the repository to its own rules: what may import what, how long a file or function may be,
// what every dependency must explain. Each rule is here because it was broken somewhere it should not have been.
package docs_test

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTopLevelFolders(t *testing.T) {
	allowed := []string{"cmd", "api", "store", "billing", "webhooks", "migrations", "deploy", "docs", ".ci"}
	for _, name := range sources(t) {
		folder, _, nested := strings.Cut(name, "/")
		if nested && !slices.Contains(allowed, folder) {
			t.Errorf("%s: the top level holds only %v", name, allowed)
		}
	}
}

// A file that needs scrolling for minutes, or a function that fits on no screen, is where everybody appends.
func TestLengths(t *testing.T) {
	const linesOfFile, linesOfFunction, linesOfTest = 400, 70, 120
	for _, name := range sources(t) {
		if ext := path.Ext(name); ext == ".sql" && strings.Count(read(t, name), "\n") > linesOfFile {
			t.Errorf("%s is over %d lines", name, linesOfFile)
		}
	}
	for _, f := range goFiles(t) {
		if f.line(f.syntax.FileEnd) > linesOfFile+1 {
			t.Errorf("%s is over %d lines", f.name, linesOfFile)
		}
		limit := linesOfFunction
		if f.isTest {
			limit = linesOfTest
		}
		for _, decl := range f.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && f.line(fn.End())-f.line(fn.Pos())+1 > limit {
				t.Errorf("%s:%d: %s is over %d lines", f.name, f.line(fn.Pos()), fn.Name.Name, limit)
			}
		}
	}
}

// Time is an argument: whoever reads the clock elsewhere cannot be tested with another time.
func TestClockIsReadAtTheEdgesOnly(t *testing.T) {
	for _, f := range goFiles(t) {
		// The client runs in somebody else's program, which has no clock to hand it: one file of it reads one.
		if f.isTest || within(f.folder, "cmd") || within(f.folder, "store") || f.name == "api/client/clock.go" {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := selector.X.(*ast.Ident)
			if ok && pkg.Name == "time" && slices.Contains([]string{"Now", "Since", "Until"}, selector.Sel.Name) {
				t.Errorf("%s:%d: time.%s; take the time or a clock as an argument", f.name, f.line(n.Pos()), selector.Sel.Name)
			}
			return true
		})
	}
}

// A name like util says where something is kept and not what it is.
func TestNamesSayWhatIsInside(t *testing.T) {
	vague := regexp.MustCompile(`^(utils?|commons?|helpers?|managers?|misc)$`)
	check := func(where, name string) {
		if slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("/_.-", r) }), vague.MatchString) {
			t.Errorf("%s: name it for what is inside", where)
		}
	}
	for _, name := range sources(t) {
		check(name, name)
	}
	for _, f := range goFiles(t) {
		check(f.name+" (package)", f.syntax.Name.Name)
	}
}

// The methods of well-known interfaces need no comment: their meaning is that interface's.
var wellKnown = []string{"Error", "String", "Unwrap", "Is", "Format", "LogValue", "MarshalJSON", "UnmarshalJSON",
	"MarshalText", "UnmarshalText", "Len", "Less", "Swap", "ServeHTTP", "Describe", "Collect"}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.isTest {
			continue
		}
		for _, decl := range f.syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				onExported := d.Recv == nil || ast.IsExported(receiver(d))
				if d.Name.IsExported() && onExported && d.Doc == nil && (d.Recv == nil || !slices.Contains(wellKnown, d.Name.Name)) {
					t.Errorf("%s:%d: %s has no comment", f.name, f.line(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, name := range undocumented(d) {
					t.Errorf("%s:%d: %s has no comment", f.name, f.line(name.Pos()), name.Name)
				}
			}
		}
	}
}

func receiver(fn *ast.FuncDecl) string {
	kind := fn.Recv.List[0].Type
	for {
		switch k := kind.(type) {
		case *ast.StarExpr:
			kind = k.X
		case *ast.IndexExpr:
			kind = k.X
		case *ast.IndexListExpr:
			kind = k.X
		case *ast.Ident:
			return k.Name
		default:
			return ""
		}
	}
}

// undocumented lists the exported names of a const, var or type declaration that neither it nor its group explains.
func undocumented(d *ast.GenDecl) (names []*ast.Ident) {
	if d.Doc != nil || d.Tok == token.IMPORT {
		return nil
	}
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
				names = append(names, s.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if s.Doc == nil && s.Comment == nil && name.IsExported() {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// Each direct dependency must be worth a sentence.
func TestDependenciesAreDecided(t *testing.T) {
	decisions, err := filepath.Glob(filepath.Join(root, "docs/decisions/*.md"))
	if err != nil || len(decisions) == 0 {
		t.Fatal("no decisions found", err)
	}
	var text strings.Builder
	for _, name := range decisions {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(content)
	}
	requirement := regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+|pgregory\.net/\S+) v\S+( // indirect)?$`)
	for _, match := range requirement.FindAllStringSubmatch(read(t, "go.mod"), -1) {
		if match[2] == "" && !strings.Contains(text.String(), "`"+match[1]+"`") {
			t.Errorf("%s is a direct dependency, and docs/decisions does not say why", match[1])
		}
	}
}

// A path of the machine that something was written on means nothing to anyone else.
func TestNoMachinePaths(t *testing.T) {
	machine := regexp.MustCompile(`(^|[^\w.}])/(root|home/\w+|work/(main|shared)|Users/\w+)/`)
	for _, name := range sources(t) {
		text := read(t, name)
		if strings.ContainsRune(text, 0) {
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			if found := machine.FindString(line); found != "" {
				t.Errorf("%s:%d: a path of one machine: %q", name, i+1, found)
			}
		}
	}
}

// within tells whether folder is top or below it.
func within(folder, top string) bool {
	return folder == top || strings.HasPrefix(folder, top+"/")
}
