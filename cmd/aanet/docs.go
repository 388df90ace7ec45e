package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aanet/api"
	"aanet/api/clientgen"
	"aanet/api/mcp"
	"aanet/api/rest"
	"aanet/cmd/aanet/cli"
)

// runDocs writes everything that is generated from the operations; it is run at the top of the work tree.
func runDocs(_ context.Context, p process, args []string) error {
	if len(args) > 0 {
		return errors.New("usage: aanet docs")
	}
	files, err := generated()
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o644); err != nil { //nolint:gosec // documentation is for everybody
			return fmt.Errorf("write the reference: %w", err)
		}
		fmt.Fprintln(p.stdout, "wrote", name)
	}
	return nil
}

// generated gives the generated files by their path in the work tree.
func generated() (map[string][]byte, error) {
	openapi, err := rest.OpenAPI()
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	tools, err := mcp.Reference()
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	client, err := clientgen.Files(api.Operations())
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	files := map[string][]byte{
		"docs/openapi.json":  openapi,
		"docs/operations.md": rest.OperationsTable(),
		"docs/tools.json":    tools,
		"docs/cli.md":        cli.Reference(serverList()),
	}
	for name, text := range client {
		files[filepath.Join("api/client", name)] = text
	}
	return files, nil
}
