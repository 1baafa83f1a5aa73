package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// deliveryWindow is how long GitHub lists a delivery and takes requests to repeat it.
const deliveryWindow = 3 * 24 * time.Hour

// Delivery is one attempt to deliver a webhook. All attempts for one event have its GUID.
type Delivery struct {
	ID            int64
	GUID          string
	Event, Action string // Action is empty for push, status and ping
	At            time.Time
	Duration      time.Duration
	Redelivery    bool
	StatusCode    int    // of the answer; 502 when there was no connection, 504 when the answer came too late
	Status        string // "OK" or what went wrong
	Installation  int64  // zero for ping
	Repository    int64  // zero for events that are not about one
	URL           string
	Header        http.Header
	Payload       []byte
	AnswerHeader  http.Header
	Answer        string
}

// Succeeded tells whether the receiver answered in time and with 2xx.
func (d Delivery) Succeeded() bool { return d.StatusCode >= 200 && d.StatusCode <= 299 }

// Deliveries lists the attempts so far, oldest first.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deliveries)
}

// Redeliver sends the event with that guid once more, as the button in GitHub's settings does.
func (s *Server) Redeliver(guid string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range slices.Backward(s.deliveries) {
		if d.GUID == guid {
			s.redeliver(d)
			return nil
		}
	}
	return fmt.Errorf("no delivery has the guid %q", guid)
}

// redeliver queues the same payload under the same guid; the caller holds s.mu.
func (s *Server) redeliver(d Delivery) {
	s.hooks.add(&shipment{checked: true, free: true, Delivery: Delivery{
		GUID: d.GUID, Event: d.Event, Action: d.Action, Redelivery: true, Installation: d.Installation, Repository: d.Repository, Payload: d.Payload,
	}})
}

func deliveryRoutes() map[string]route {
	return map[string]route{
		"GET /app/hook/deliveries":                         {appOnly: true, handle: listDeliveries},
		"GET /app/hook/deliveries/{delivery_id}":           {appOnly: true, handle: getDelivery},
		"POST /app/hook/deliveries/{delivery_id}/attempts": {appOnly: true, handle: redeliver},
	}
}

// listed tells whether GitHub still shows a delivery; the caller holds s.mu.
func (s *Server) listed(d Delivery) bool { return s.now().Sub(d.At) < deliveryWindow }

// listDeliveries pages by a cursor, newest first.
func listDeliveries(c *call) reply {
	size := 30
	if n, err := strconv.Atoi(c.query("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	below := int64(1<<63 - 1)
	if cursor := c.query("cursor"); cursor != "" {
		n, err := strconv.ParseInt(strings.TrimPrefix(cursor, "v1_"), 10, 64)
		if err != nil || !strings.HasPrefix(cursor, "v1_") {
			return unprocessable("HookDelivery", "cursor", "invalid", "")
		}
		below = n
	}
	want := c.query("status")
	items := []any{}
	var last int64
	more := false
	for _, d := range slices.Backward(c.s.deliveries) {
		if d.ID >= below || !c.s.listed(d) || want == "success" && !d.Succeeded() || want == "failure" && d.Succeeded() {
			continue
		}
		if len(items) == size {
			more = true
			break
		}
		items, last = append(items, deliveryJSON(d)), d.ID
	}
	rep := ok(items)
	if more {
		q := c.r.URL.Query()
		q.Set("cursor", fmt.Sprintf("v1_%d", last))
		rep.header = http.Header{"Link": {fmt.Sprintf(`<%sapp/hook/deliveries?%s>; rel="next"`, c.s.REST, q.Encode())}}
	}
	return rep
}

func (c *call) delivery() (Delivery, bool) {
	id := c.number("delivery_id")
	for _, d := range c.s.deliveries {
		if d.ID == id && c.s.listed(d) {
			return d, true
		}
	}
	return Delivery{}, false
}

func getDelivery(c *call) reply {
	d, found := c.delivery()
	if !found {
		return notFound()
	}
	body := deliveryJSON(d)
	body["url"] = d.URL
	body["request"] = object{"headers": flat(d.Header), "payload": json.RawMessage(d.Payload)}
	body["response"] = object{"headers": flat(d.AnswerHeader), "payload": text(d.Answer)}
	return ok(body)
}

func redeliver(c *call) reply {
	d, found := c.delivery()
	if !found {
		return notFound()
	}
	c.s.redeliver(d)
	return reply{status: http.StatusAccepted, body: object{}}
}

func deliveryJSON(d Delivery) object {
	id := func(n int64) any {
		if n == 0 {
			return nil
		}
		return n
	}
	return object{
		"id": d.ID, "guid": d.GUID, "delivered_at": stamp(d.At), "redelivery": d.Redelivery, "duration": d.Duration.Seconds(), "status": d.Status,
		"status_code": d.StatusCode, "event": d.Event, "action": text(d.Action), "installation_id": id(d.Installation), "repository_id": id(d.Repository),
		"throttled_at": nil,
	}
}

// flat writes headers as an object of strings; null when there are none.
func flat(h http.Header) any {
	if h == nil {
		return nil
	}
	out := object{}
	for name := range h {
		out[name] = strings.Join(h[name], ", ")
	}
	return out
}
