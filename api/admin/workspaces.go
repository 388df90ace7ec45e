package admin

import (
	"strings"
	"unicode/utf8"

	"aanet/store"
)

const (
	searchPath = Root + "/search"
	searchMax  = 300 // bytes
)

func (d *door) workspacesRoutes() []route {
	return []route{
		{"GET " + workspacesPath, store.RoleViewer, d.workspaces},
		{"GET " + searchPath, store.RoleViewer, d.search},
	}
}

// orders are the lists of workspaces, in the order of their tabs.
var orders = []struct{ Name, Text, About string }{
	{store.NewestFirst, "Newest", "Living workspaces, the newest first."},
	{store.RichestFirst, "Largest balance", "Living workspaces by balance, as it was when the logs were last counted: at most a minute ago."},
	{store.BusiestFirst, "Most active", "Living workspaces by their calls of the day (UTC) in which they were last active."},
	{store.BlockedOnly, "Blocked", "Workspaces that an operator has blocked, the newest first."},
}

// tab is a link to one view of a page.
type tab struct {
	Path, Text string
	Here       bool
}

type workspacesPage struct {
	Tabs  []tab
	About string
	Rows  []store.ListedWorkspace
	Pager pager
}

func (d *door) workspaces(v *visit) error {
	order := v.r.URL.Query().Get("order")
	page := workspacesPage{}
	for _, o := range orders {
		if order == o.Name {
			page.About = o.About
		}
	}
	if page.About == "" {
		order, page.About = orders[0].Name, orders[0].About
	}
	for _, o := range orders {
		page.Tabs = append(page.Tabs, tab{workspacesPath + "?order=" + o.Name, o.Text, o.Name == order})
	}
	var after *store.WorkspacePlace
	if place := new(store.WorkspacePlace); v.after(place) {
		after = place
	}
	rows, err := d.Store.ListWorkspaces(v.ctx(), order, after, pageRows+1)
	if err != nil {
		return err
	}
	page.Rows, page.Pager, err = pages(v, rows, func(w store.ListedWorkspace) any {
		place := store.WorkspacePlace{ID: w.ID, Rank: w.Rank}
		if w.Day != nil {
			place.Day = *w.Day
		}
		return place
	})
	if err != nil {
		return err
	}
	return v.show("workspaces.html", "Workspaces", workspacesPath, page)
}

type searchPage struct {
	Text  string
	Fault string
	Asked bool
	Found []foundRow
}

type foundRow struct {
	store.Found
	Path string // to where it is shown
}

// search looks for one text. What looks like a key is not looked for: it should not have been pasted, and says so.
func (d *door) search(v *visit) error {
	text := strings.TrimSpace(v.r.URL.Query().Get("q"))
	page := searchPage{Text: text, Asked: text != ""}
	switch {
	case len(text) > searchMax || !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		page.Text, page.Fault = "", "This is too long, or no text."
	case strings.HasPrefix(text, "aan_") && len(text) > 12:
		page.Text, page.Fault = "", "This looks like a key. Nobody should have it but its holder: search for its last four characters."
	case text != "":
		found, err := d.Store.Find(v.ctx(), text)
		if err != nil {
			return err
		}
		for _, f := range found {
			page.Found = append(page.Found, foundRow{f, pathOfFound(f)})
		}
	}
	return v.show("search.html", "Search", "", page)
}

func pathOfFound(f store.Found) string {
	path := workspacePath(f.Workspace)
	switch f.Kind {
	case store.FoundKey:
		return path + "/keys"
	case store.FoundDeposit:
		return depositsPath + "/" + f.ID.String()
	case store.FoundRefund:
		return refundsPath + "/" + f.ID.String()
	case store.FoundWebhook:
		return webhooksPath + "/" + f.ID.String()
	}
	return path
}
