package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository, seen from this package.
const root = ".."

// sources lists the repository's files, slash-separated and relative to root: those git knows or would add, or all but
// hidden ones when this is no git work tree. Files deleted and not yet committed are left out.
func sources(t *testing.T) []string {
	t.Helper()
	git := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	git.Dir = root
	listed, err := git.Output()
	var files []string
	if err == nil {
		for name := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
			if info, err := os.Stat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() {
				files = append(files, name)
			}
		}
	} else {
		files = walk(t)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files found below %s", len(files), root)
	}
	return files
}

func walk(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && (strings.HasPrefix(base, ".") && base != ".ci" && base != root || base == "bin") {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() {
			relative, err := filepath.Rel(root, name)
			files = append(files, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// goFile is a hand-written Go file with its syntax tree.
type goFile struct {
	name   string // from the repository's root
	folder string
	isTest bool
	fset   *token.FileSet
	syntax *ast.File
}

func (f goFile) line(pos token.Pos) int { return f.fset.Position(pos).Line }

// goFiles parses all hand-written Go files.
func goFiles(t *testing.T) (files []goFile) {
	t.Helper()
	for _, name := range sources(t) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, name, read(t, name), parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !ast.IsGenerated(syntax) {
			files = append(files, goFile{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), fset, syntax})
		}
	}
	return files
}
