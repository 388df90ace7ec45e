// Package functions holds the SQL functions of the hot path, one a file. They are code, not schema: each start replaces
// their bodies, so a change needs no migration. A signature never changes; a function that needs another gets a new name.
package functions

import "embed"

// Set numbers the bodies that belong to one schema version. Raise it in each release that changes a function: a replica
// with a lower number never puts its older bodies back.
const Set = 1

// FS has the SQL files at its root.
//
//go:embed *.sql
var FS embed.FS
