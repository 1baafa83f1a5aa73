package ghclient

import (
	"container/list"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	// cacheAge bounds how long an object is served without asking: the object cannot change, but the right to see it can.
	cacheAge = time.Hour
	// cacheShare is the largest part of the cache that one object may take.
	cacheShare = 4
)

// cache keeps answers about immutable objects: least recently used go first, bounded by bytes. It is safe for concurrent
// use.
type cache struct {
	max int64
	now func() time.Time

	mu      sync.Mutex
	bytes   int64
	order   *list.List // of *entry, the most recently used in front
	entries map[string]*list.Element
}

type entry struct {
	key          string
	installation int64
	answer       *answer
	size         int64
	at           time.Time
}

func newCache(maxBytes int64, now func() time.Time) *cache {
	return &cache{max: maxBytes, now: now, order: list.New(), entries: map[string]*list.Element{}}
}

func (c *cache) get(key string) (*answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	e := el.Value.(*entry) // the list holds nothing else
	if c.now().Sub(e.at) > cacheAge {
		c.remove(el)
		return nil, false
	}
	c.order.MoveToFront(el)
	return e.answer, true
}

// kept are the headers that callers read from an answer; all else is about that one exchange.
var kept = []string{"Content-Type", "Link", "X-GitHub-Media-Type"}

func (c *cache) put(installation int64, key string, a *answer) {
	size := int64(len(key) + len(a.body) + 256)
	if size > c.max/cacheShare {
		return
	}
	header := http.Header{}
	for _, name := range kept {
		if v := a.header.Values(name); len(v) > 0 {
			header[name] = v
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[key]; ok {
		c.remove(el)
	}
	e := &entry{key: key, installation: installation, size: size, at: c.now(),
		answer: &answer{status: a.status, header: header, body: a.body, proto: a.proto}}
	c.entries[key] = c.order.PushFront(e)
	c.bytes += size
	for c.bytes > c.max {
		c.remove(c.order.Back())
	}
}

func (c *cache) remove(el *list.Element) {
	e := el.Value.(*entry) // the list holds nothing else
	c.order.Remove(el)
	delete(c.entries, e.key)
	c.bytes -= e.size
}

func (c *cache) forget(installation int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for el := c.order.Front(); el != nil; {
		next := el.Next()
		if e, ok := el.Value.(*entry); ok && e.installation == installation {
			c.remove(el)
		}
		el = next
	}
}

// size returns the bytes that are kept.
func (c *cache) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// sha is a full object id, SHA-1 or SHA-256. Anything shorter may come to mean another object.
const sha = `(?:[0-9a-f]{40}|[0-9a-f]{64})`

var (
	immutablePath = regexp.MustCompile(`^(?:repos/[^/]+/[^/]+|repositories/\d+)/(?:git/(?:blobs|trees|commits)/` + sha +
		`|commits/` + sha + `|compare/` + sha + `\.\.\.` + sha + `)$`)
	contentsPath = regexp.MustCompile(`^(?:repos/[^/]+/[^/]+|repositories/\d+)/contents(?:/.*)?$`)
	fullSHA      = regexp.MustCompile(`^` + sha + `$`)
)

// immutableKey returns the key of a read whose answer can never change, or "". It names the installation, which may see
// what others may not, and never a token, which changes each hour.
func (c *Clients) immutableKey(installation int64, req *http.Request) string {
	if req.Method != http.MethodGet || c.opt.CacheBytes < 0 || req.Header.Get("Range") != "" {
		return ""
	}
	if !c.immutable(req.URL) {
		return ""
	}
	return fmt.Sprintf("%d %s %s", installation, strings.Join(req.Header.Values("Accept"), ","), req.URL)
}

func (c *Clients) immutable(u *url.URL) bool {
	path := c.apiPath(u)
	if immutablePath.MatchString(path) {
		return true
	}
	return contentsPath.MatchString(path) && fullSHA.MatchString(u.Query().Get("ref"))
}
