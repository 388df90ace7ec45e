// Package migrations holds the numbered changes of the schema, for golang-migrate: NNNN_name.up.sql and .down.sql.
package migrations

import "embed"

// FS has the SQL files at its root.
//
//go:embed *.sql
var FS embed.FS
