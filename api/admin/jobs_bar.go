package admin

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"aanet/api/web"
)

//go:embed assets/bar.css
var barText []byte

// barStyle is the stylesheet of the bar over River's pages. That of our own pages would change theirs.
var barStyle = web.NewAsset(Root+"/assets/bar.css", barText)

// barPage is what an answer of River's has to hold to be a page.
var (
	headEnd   = regexp.MustCompile(`</head>`)
	bodyBegin = regexp.MustCompile(`<body[^>]*>`)
)

// barred answers a request by River's pages with a bar of ours over each page, which leads back to the dashboard. It is
// put into the HTML before that is sent, so River's policy needs no exception for it. What is no page stays as it is.
func (d *door) barred(v *visit) error {
	w := &caught{ResponseWriter: v.w}
	d.Jobs.ServeHTTP(w, v.r)
	if w.page == nil {
		return nil
	}
	page := w.page.Bytes()
	head, body := headEnd.FindIndex(page), bodyBegin.FindIndex(page)
	if head != nil && body != nil {
		var bar bytes.Buffer
		if err := d.pages.ExecuteTemplate(&bar, "jobs_bar.html", v.menu()); err != nil {
			return err
		}
		style := `<link rel="stylesheet" href="` + template.HTMLEscapeString(barStyle.Path) + `">`
		page = bytes.Join([][]byte{page[:head[0]], []byte(style), page[head[0]:body[1]], bar.Bytes(), page[body[1]:]}, nil)
	}
	v.w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	v.w.WriteHeader(w.status)
	_, _ = v.w.Write(page) // a client that is gone needs no answer
	return nil
}

// caught keeps an HTML page back and lets everything else through.
type caught struct {
	http.ResponseWriter
	status int
	page   *bytes.Buffer // nil: it is no page, or nothing came yet
}

func (c *caught) WriteHeader(status int) {
	if c.status != 0 {
		return
	}
	c.status = status
	if strings.HasPrefix(c.Header().Get("Content-Type"), "text/html") {
		c.page = new(bytes.Buffer)
		return
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *caught) Write(b []byte) (int, error) {
	if c.status == 0 {
		if c.Header().Get("Content-Type") == "" {
			c.Header().Set("Content-Type", http.DetectContentType(b))
		}
		c.WriteHeader(http.StatusOK)
	}
	if c.page != nil {
		return c.page.Write(b)
	}
	return c.ResponseWriter.Write(b)
}

// Unwrap lets River reach what it writes to, such as to flush.
func (c *caught) Unwrap() http.ResponseWriter { return c.ResponseWriter }
