package admin

import "aanet/store"

func (d *door) overviewRoutes() []route {
	return []route{{"GET " + Root, store.RoleViewer, d.overview}}
}

func (d *door) overview(v *visit) error { return v.show("overview.html", "Overview", Root, nil) }
