package admin

import (
	"html/template"
	"time"

	"aanet/api/web/chart"
	"aanet/store"
)

func (d *door) workspaceRoutes() []route {
	const one = "GET " + workspacesPath + "/{id}"
	return []route{
		{one, store.RoleViewer, d.workspace},
		{one + "/keys", store.RoleViewer, d.workspaceKeys},
		{one + "/activity", store.RoleViewer, d.workspaceActivity},
		{one + "/files", store.RoleViewer, d.workspaceFiles},
		{one + "/locks", store.RoleViewer, d.workspaceLocks},
		{one + "/webhooks", store.RoleViewer, d.workspaceWebhooks},
		{one + "/money", store.RoleViewer, d.workspaceMoney},
	}
}

// workspaceParts are the pages of a workspace, in the order of their tabs.
var workspaceParts = []struct{ path, text string }{
	{"", "Summary"}, {"/activity", "Activity"}, {"/keys", "Keys"}, {"/files", "Files"}, {"/locks", "Locks"}, {"/webhooks", "Webhooks"}, {"/money", "Money"},
}

// workspaceHead is the top of each page of a workspace.
type workspaceHead struct {
	store.Brief
	Tabs []tab
	Path string
}

// headOf reads the workspace of the address.
func (d *door) headOf(v *visit, part string) (workspaceHead, error) {
	brief, err := d.brief(v)
	if err != nil {
		return workspaceHead{}, err
	}
	head := workspaceHead{Brief: brief, Path: workspacePath(brief.ID)}
	for _, p := range workspaceParts {
		head.Tabs = append(head.Tabs, tab{head.Path + p.path, p.text, p.path == part})
	}
	return head, nil
}

// showPart answers with a page of a workspace.
func (v *visit) showPart(template string, head workspaceHead, part string, data any) error {
	return v.show(template, part+" of "+head.ID.String(), workspacesPath, data)
}

// ranges are how far back the chart of a balance goes, in steps of so many hours.
var ranges = []struct {
	Name, Text string
	step       time.Duration
	steps      int
	layout     string
}{
	{"day", "24 hours", time.Hour, 24, "15:04"},
	{"week", "7 days", 4 * time.Hour, 42, "Mon 15:04"},
	{"month", "30 days", 12 * time.Hour, 60, "2 Jan 15:04"},
	{"quarter", "90 days", 24 * time.Hour, 90, "2 Jan"},
}

type workspacePage struct {
	Head           workspaceHead
	View           store.WorkspaceView
	Ranges         []tab
	Balance, Spend template.HTML
	MoreFiles      bool // than were counted
}

func (d *door) workspace(v *visit) error {
	head, err := d.headOf(v, "")
	if err != nil {
		return err
	}
	view, err := d.Store.WorkspaceView(v.ctx(), head.ID)
	if err != nil {
		return err
	}
	page := workspacePage{Head: head, View: view, MoreFiles: view.Files >= store.FilesCounted}
	chosen := 0
	for i, r := range ranges {
		if v.r.URL.Query().Get("range") == r.Name {
			chosen = i
		}
	}
	for i, r := range ranges {
		page.Ranges = append(page.Ranges, tab{head.Path + "?range=" + r.Name, r.Text, i == chosen})
	}
	r := ranges[chosen]
	points, err := d.Store.BalanceHistory(v.ctx(), head.ID, v.now().UTC(), r.step, r.steps)
	if err != nil {
		return err
	}
	page.Balance, page.Spend = balanceCharts(points, r.Text, r.layout)
	return v.showPart("workspace.html", head, "Summary", page)
}

func balanceCharts(points []store.BalancePoint, span, layout string) (balance, spend template.HTML) {
	labels := make([]string, len(points))
	balances, units := make([]int64, len(points)), make([]int64, len(points))
	for i, p := range points {
		labels[i], balances[i], units[i] = p.At.UTC().Format(layout), p.Balance, p.Units
	}
	balance = chart.Figure{
		Title: "Balance, " + span + " (units)", Heads: "At the end of (UTC)", Labels: labels, Series: []chart.Series{{Name: "units", Values: chart.Ints(balances...)}},
	}.Lines()
	spend = chart.Figure{
		Title: "Charged, " + span + " (units)", Heads: "Up to (UTC)", Labels: labels, Series: []chart.Series{{Name: "units", Values: chart.Ints(units...)}},
	}.Bars()
	return balance, spend
}

type keysPage struct {
	Head  workspaceHead
	Rows  []store.ViewedKey
	Pager pager
}

func (d *door) workspaceKeys(v *visit) error {
	head, err := d.headOf(v, "/keys")
	if err != nil {
		return err
	}
	var before int64
	v.after(&before)
	rows, err := d.Store.ViewKeys(v.ctx(), head.ID, before, pageRows+1)
	if err != nil {
		return err
	}
	page := keysPage{Head: head}
	page.Rows, page.Pager, err = pages(v, rows, func(k store.ViewedKey) any { return k.MintedSeq })
	if err != nil {
		return err
	}
	return v.showPart("workspace_keys.html", head, "Keys", page)
}

type locksPage struct {
	Head  workspaceHead
	Rows  []store.ViewedLock
	Pager pager
}

func (d *door) workspaceLocks(v *visit) error {
	head, err := d.headOf(v, "/locks")
	if err != nil {
		return err
	}
	var after string
	v.after(&after)
	rows, err := d.Store.ViewLocks(v.ctx(), head.ID, after, pageRows+1)
	if err != nil {
		return err
	}
	page := locksPage{Head: head}
	page.Rows, page.Pager, err = pages(v, rows, func(l store.ViewedLock) any { return l.Name })
	if err != nil {
		return err
	}
	return v.showPart("workspace_locks.html", head, "Locks", page)
}

type webhooksPage struct {
	Head workspaceHead
	Rows []store.ViewedWebhook
}

func (d *door) workspaceWebhooks(v *visit) error {
	head, err := d.headOf(v, "/webhooks")
	if err != nil {
		return err
	}
	rows, err := d.Store.ViewWebhooks(v.ctx(), head.ID)
	if err != nil {
		return err
	}
	return v.showPart("workspace_webhooks.html", head, "Webhooks", webhooksPage{head, rows})
}

type moneyPage struct {
	Head  workspaceHead
	Rows  []store.MoneyEntry
	Pager pager
}

// Network is the name of a network as people know it.
func (moneyPage) Network(id string) string { return networkName(id) }

func (d *door) workspaceMoney(v *visit) error {
	head, err := d.headOf(v, "/money")
	if err != nil {
		return err
	}
	var before *store.MoneyEntry
	if last := new(store.MoneyEntry); v.after(last) {
		before = last
	}
	rows, err := d.Store.ViewMoney(v.ctx(), head.ID, before, pageRows+1)
	if err != nil {
		return err
	}
	page := moneyPage{Head: head}
	page.Rows, page.Pager, err = pages(v, rows, func(m store.MoneyEntry) any { return store.MoneyEntry{At: m.At, ID: m.ID} })
	if err != nil {
		return err
	}
	return v.showPart("workspace_money.html", head, "Money", page)
}
