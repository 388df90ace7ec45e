package admin_test

import (
	"testing"

	"aanet/api/web/browsertest"
	"aanet/store"
)

// The pages of numbers are usable with keyboard and screen reader, in both colour schemes, on a desk and on a phone.
func TestPagesOfNumbersInABrowser(t *testing.T) {
	h := open(t, nil)
	ws, _ := h.stage(t)
	here := h.url + "/admin/workspaces/" + ws.ID
	for _, size := range browsertest.Sizes {
		tab := browsertest.Open(t, size, browsertest.Light)
		tab.Go(h.url + "/admin/login")
		tab.Fill("#email", person(store.RoleOperator))
		tab.Fill("#password", password)
		tab.Submit("main button", "Sign in")
		pages := []struct{ name, url string }{
			{"overview", h.url + "/admin"}, {"workspaces", h.url + "/admin/workspaces"}, {"workspace", here}, {"activity", here + "/activity"}, {"search", h.url + "/admin/search?q=" + ws.ID},
			{"keys", here + "/keys"}, {"files", here + "/files"}, {"locks", here + "/locks"}, {"webhooks", here + "/webhooks"}, {"money", here + "/money"}, {"prices", h.url + "/admin/prices"},
		}
		if size == browsertest.Phone {
			pages = pages[:5] // the others are lists of the same parts
		}
		for _, page := range pages {
			tab.Go(page.url)
			tab.Check()
			tab.Shot(page.name)
		}
	}
}
