package admin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"time"

	"github.com/google/uuid"
)

// pageRows is how many rows a list shows.
const pageRows = 50

// pager leads through a list by key: to its first page, and to the one behind the last row shown.
type pager struct{ First, Next string }

// placed is the key of lists in the order of time.
type placed struct {
	At time.Time
	ID uuid.UUID
}

// afterParameter is where an address carries the key of the last row that was shown.
const afterParameter = "after"

// after reads the key behind which the page begins into key. False: the address has none, or one that is none of ours,
// so the page is the first.
func (v *visit) after(key any) bool {
	text, err := base64.RawURLEncoding.DecodeString(v.r.URL.Query().Get(afterParameter))
	if bytes.Contains(text, []byte(`\u0000`)) { // no text in the database has it, and it takes none
		return false
	}
	return err == nil && len(text) > 0 && json.Unmarshal(text, key) == nil
}

// pages makes the pager of this page. rows are the rows read, one more than are shown when there is a next page; last gives
// the key of a row. It returns the rows to show.
func pages[R any](v *visit, rows []R, last func(R) any) ([]R, pager, error) {
	var key any
	if len(rows) > pageRows {
		rows = rows[:pageRows]
		key = last(rows[pageRows-1])
	}
	p, err := v.leading(key)
	return rows, p, err
}

// with is the address of this page with another value of one parameter; what was done is not said again.
func (v *visit) with(name, value string) string {
	query := v.query()
	query.Set(name, value)
	return v.r.URL.Path + "?" + query.Encode()
}

func (v *visit) without(name string) string {
	query := v.query()
	query.Del(name)
	if len(query) == 0 {
		return v.r.URL.Path
	}
	return v.r.URL.Path + "?" + query.Encode()
}

func (v *visit) query() url.Values {
	query := v.r.URL.Query()
	query.Del("done")
	return query
}

// before is the pager of a list that goes on before a number; 0: it does not.
func (v *visit) before(next int64) (pager, error) {
	if next == 0 {
		return v.leading(nil)
	}
	return v.leading(next)
}

// behind is the pager of a list that goes on behind a name; nil: it does not.
func (v *visit) behind(next *string) (pager, error) {
	if next == nil {
		return v.leading(nil)
	}
	return v.leading(*next)
}

// leading is a pager whose next page has this key; nil: there is none.
func (v *visit) leading(key any) (pager, error) {
	var p pager
	if v.r.URL.Query().Has(afterParameter) {
		p.First = v.without(afterParameter)
	}
	if key == nil {
		return p, nil
	}
	text, err := json.Marshal(key)
	p.Next = v.with(afterParameter, base64.RawURLEncoding.EncodeToString(text))
	return p, err
}
