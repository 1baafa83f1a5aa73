package main

import (
	_ "embed"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

//go:embed pages.html
var pagesHTML string

// page is one pull request as its page shows it.
type page struct {
	Number                     int
	Title, Author, State, Head string
	Body                       string
	Checks                     []githubtest.CheckRun
	Reviews                    []githubtest.Review
	Threads                    []githubtest.Thread
	Comments                   []githubtest.IssueComment
	Labels                     []string
	People                     []string
}

// pages serves the pages of the repository on the emulator's web host. All text in them is escaped by html/template.
func (p *playground) pages() {
	t := template.Must(template.New("pages").Funcs(template.FuncMap{
		"short":   func(sha string) string { return sha[:min(7, len(sha))] },
		"visible": visible,
	}).Parse(pagesHTML))
	show := func(w http.ResponseWriter, name string, data any) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
		if err := t.ExecuteTemplate(w, name, data); err != nil {
			http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		}
	}
	p.github.Handle("GET /acme/pay/pulls", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		show(w, "list", p.list())
	}))
	p.github.Handle("GET /acme/pay/pull/{number}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pull := p.byNumber(r.PathValue("number"))
		if pull == nil {
			http.NotFound(w, r)
			return
		}
		show(w, "pull", p.page(pull))
	}))
	p.github.Handle("POST /acme/pay/pull/{number}/comment", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pull := p.byNumber(r.PathValue("number"))
		r.Body = http.MaxBytesReader(w, r.Body, 1<<17)
		if pull == nil || r.ParseForm() != nil {
			http.NotFound(w, r)
			return
		}
		who, body := r.PostForm.Get("as"), strings.TrimSpace(r.PostForm.Get("body"))
		if (who == author || who == maintainer) && body != "" {
			if thread, err := strconv.ParseInt(r.PostForm.Get("thread"), 10, 64); err == nil {
				pull.ReplyTo(thread, who, body)
			} else {
				pull.Comment(who, body)
			}
		}
		http.Redirect(w, r, "/acme/pay/pull/"+strconv.Itoa(pull.Number()), http.StatusSeeOther)
	}))
}

func (p *playground) list() []page {
	var list []page
	for _, c := range changes() {
		if pull := p.pulls[c.branch]; pull != nil {
			list = append(list, p.page(pull))
		}
	}
	return list
}

func (p *playground) byNumber(s string) *githubtest.PullRequest {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil
	}
	for _, pull := range p.pulls {
		if pull.Number() == n {
			return pull
		}
	}
	return nil
}

func (p *playground) page(pull *githubtest.PullRequest) page {
	return page{
		Number: pull.Number(), Title: pull.Title(), Author: pull.Author(), State: pull.State(), Head: pull.HeadSHA(), Body: pull.Body(),
		Checks: p.repo.CheckRuns(pull.HeadSHA()), Reviews: pull.Reviews(), Threads: pull.Threads(), Comments: pull.IssueComments(),
		Labels: pull.Labels(), People: []string{maintainer, author},
	}
}

// visible is Markdown as a reader sees it: without the hidden comments that programs leave in it.
func visible(s string) string {
	for {
		from := strings.Index(s, "<!--")
		if from < 0 {
			return strings.TrimSpace(s)
		}
		to := strings.Index(s[from:], "-->")
		if to < 0 {
			return strings.TrimSpace(s[:from])
		}
		s = s[:from] + s[from+to+3:]
	}
}
