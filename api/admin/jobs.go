package admin

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"aanet/store"
)

// JobsPath is the path that River's own pages have to be made for.
const JobsPath = Root + "/jobs"

// jobsPolicy is that of River's pages: their script is theirs, so it gets nothing but itself, and styles what it makes.
const jobsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// jobRoutes lead to River's own pages. They post by a script that knows no form token.
func (d *door) jobRoutes() []route {
	if d.Jobs == nil {
		return nil
	}
	all := []route{{"GET " + JobsPath + "/", store.RoleViewer, d.jobs}}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		all = append(all, route{method + " " + JobsPath + "/", store.RoleOperator, d.changeJobs})
	}
	return all
}

// ownScript tells whether a request can only have been made by a script of our own pages.
func ownScript(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && origin.Host != "" && origin.Host == r.Host
}

func (d *door) jobs(v *visit) error {
	h := v.w.Header()
	h.Set("Content-Security-Policy", jobsPolicy)
	if strings.HasPrefix(v.r.URL.Path, JobsPath+"/assets/") {
		h.Set("Cache-Control", "private, max-age=86400") // named by their content
	}
	return d.barred(v)
}

// changeJobs writes down what is asked for, and by whom, before River does it in a transaction of its own.
func (d *door) changeJobs(v *visit) error {
	body, err := io.ReadAll(v.r.Body)
	if err != nil {
		return err
	}
	var asked any
	if json.Unmarshal(body, &asked) != nil {
		asked = nil
	}
	what := v.r.Method + " " + strings.TrimPrefix(v.r.URL.Path, JobsPath+"/api/")
	if err := d.Store.RecordAct(v.ctx(), v.act(""), "jobs.change", "jobs", what, asked); err != nil {
		return err
	}
	v.r.Body = io.NopCloser(bytes.NewReader(body))
	return d.jobs(v)
}
