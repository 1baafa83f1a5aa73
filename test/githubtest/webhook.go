package githubtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" // GitHub still sends the old signature beside the new one
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prosecutor-bot/prosecutor/test/contract"
)

const (
	// deliveryTimeout is how long github.com waits for an answer.
	deliveryTimeout = 10 * time.Second
	// maxPayload is from where on GitHub does not send an event at all.
	maxPayload = 25 << 20
	// maxAnswer bounds what is kept of an answer's body.
	maxAnswer = 64 << 10
)

// Passage is what becomes of one delivery on its way.
type Passage int

const (
	// Deliver sends it, in the order of the events.
	Deliver Passage = iota
	// Lose sends nothing and leaves no trace, as when GitHub itself loses an event.
	Lose
	// Fail records a delivery that could not connect, as when the receiver is down.
	Fail
	// Double sends it twice at the same moment, under one guid.
	Double
	// Hold keeps it back until Release, while later ones pass it.
	Hold
)

// hooks sends webhooks: one goroutine, one delivery after another in the order of the events, each tried once.
type hooks struct {
	s      *Server
	id     int64
	client *http.Client
	ctx    context.Context //nolint:containedctx // the life of the goroutine, from startSeams to stopSeams
	cancel context.CancelFunc
	done   sync.WaitGroup
	wake   chan struct{}

	mu      sync.Mutex // taken after Server.mu, never before it
	queue   []*shipment
	held    []*shipment
	sent    int           // shipments that went into the queue
	settled int           // of these, those that are answered, lost or held
	turn    chan struct{} // closed and replaced whenever settled grows
	passage func(Delivery) Passage
}

// shipment is one delivery before it has an outcome.
type shipment struct {
	Delivery
	checked bool // the payload was found to be as GitHub describes it
	free    bool // it is not asked for its passage again
}

func newHooks(s *Server) *hooks {
	ctx, cancel := context.WithCancel(context.Background())
	return &hooks{
		s: s, id: 481516234, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1), turn: make(chan struct{}),
		client: &http.Client{
			Timeout:       deliveryTimeout,
			Transport:     &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (h *hooks) start() {
	h.done.Add(1)
	go func() {
		defer h.done.Done()
		for {
			next := h.next()
			if next == nil {
				return
			}
			h.settle(next)
		}
	}()
}

// stop ends the goroutine; what is queued is not sent any more.
func (h *hooks) stop() {
	h.cancel()
	h.done.Wait()
}

// add queues a delivery.
func (h *hooks) add(list ...*shipment) {
	h.mu.Lock()
	h.queue = append(h.queue, list...)
	h.sent += len(list)
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// next waits for a delivery; nil once the server stops.
func (h *hooks) next() *shipment {
	for {
		h.mu.Lock()
		if len(h.queue) > 0 && h.ctx.Err() == nil {
			first := h.queue[0]
			h.queue = h.queue[1:]
			h.mu.Unlock()
			return first
		}
		h.mu.Unlock()
		select {
		case <-h.wake:
		case <-h.ctx.Done():
			return nil
		}
	}
}

// settle sends a delivery, or does what its passage asks for, and counts it.
func (h *hooks) settle(d *shipment) {
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.settled++
		close(h.turn)
		h.turn = make(chan struct{})
	}()
	if !d.checked {
		if err := contract.ValidateWebhook(d.Event, d.Action, d.Payload); err != nil {
			h.s.violate(fmt.Errorf("the emulator's payload: %w", err))
			return
		}
		d.checked = true
	}
	h.mu.Lock()
	passage := h.passage
	h.mu.Unlock()
	way := Deliver
	if passage != nil && !d.free {
		way = passage(d.Delivery)
	}
	switch way {
	case Deliver:
		h.send(d.Delivery)
	case Lose:
	case Fail:
		h.record(d.Delivery, outcome{code: http.StatusBadGateway, status: unreachable})
	case Double:
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { h.send(d.Delivery) })
		}
		both.Wait()
	case Hold:
		h.mu.Lock()
		h.held = append(h.held, d)
		h.mu.Unlock()
	}
}

// What is recorded of deliveries without an answer. GitHub does not describe it.
const (
	unreachable = "failed to connect to host"
	timedOut    = "timed out"
)

// outcome is what came of one attempt.
type outcome struct {
	code     int
	status   string
	duration time.Duration
	header   http.Header
	body     string
}

// send makes one attempt and records it. GitHub never makes a second one by itself.
func (h *hooks) send(d Delivery) {
	h.s.mu.Lock()
	target := h.s.hook
	h.s.mu.Unlock()
	d.URL = target.url
	start := time.Now()
	result := h.attempt(&d, target.secret)
	if h.ctx.Err() != nil {
		return // the server stops: nobody reads the record
	}
	result.duration = time.Since(start)
	h.record(d, result)
}

func (h *hooks) attempt(d *Delivery, secret string) outcome {
	r, err := http.NewRequestWithContext(h.ctx, http.MethodPost, d.URL, bytes.NewReader(d.Payload))
	if err != nil {
		return outcome{code: http.StatusBadGateway, status: unreachable}
	}
	r.Header = h.header(*d, secret)
	d.Header = r.Header
	resp, err := h.client.Do(r)
	if err != nil {
		var netErr net.Error
		if errors.As(err, &netErr) && netErr.Timeout() {
			return outcome{code: http.StatusGatewayTimeout, status: timedOut}
		}
		return outcome{code: http.StatusBadGateway, status: unreachable}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return outcome{code: http.StatusGatewayTimeout, status: timedOut}
	}
	status := "OK"
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		status = "Invalid HTTP Response: " + strconv.Itoa(resp.StatusCode)
	}
	return outcome{code: resp.StatusCode, status: status, header: resp.Header, body: string(body)}
}

// header is what GitHub sends beside a payload.
func (h *hooks) header(d Delivery, secret string) http.Header {
	head := http.Header{}
	for name, value := range map[string]string{
		"Accept": "*/*", "Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/7c3d1ab",
		"X-GitHub-Event": d.Event, "X-GitHub-Delivery": d.GUID, "X-GitHub-Hook-ID": strconv.FormatInt(h.id, 10),
		"X-GitHub-Hook-Installation-Target-ID": strconv.FormatInt(h.s.app.ID, 10), "X-GitHub-Hook-Installation-Target-Type": "integration",
	} {
		head.Set(name, value)
	}
	if secret != "" {
		head.Set("X-Hub-Signature-256", "sha256="+sign(sha256.New, secret, d.Payload))
		head.Set("X-Hub-Signature", "sha1="+sign(sha1.New, secret, d.Payload))
	}
	return head
}

func sign(algorithm func() hash.Hash, secret string, payload []byte) string {
	mac := hmac.New(algorithm, []byte(secret))
	mac.Write(payload)
	return hex.EncodeToString(mac.Sum(nil))
}

// record keeps an attempt for the list of deliveries.
func (h *hooks) record(d Delivery, o outcome) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	d.ID, d.At = h.s.id(), h.s.now()
	d.StatusCode, d.Status, d.Duration, d.AnswerHeader, d.Answer = o.code, o.status, o.duration, o.header, o.body
	h.s.deliveries = append(h.s.deliveries, d)
}

// guid is a name as GitHub gives to each event: a version 1 UUID in form.
func guid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x10, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// SetWebhook names the address that events are sent to. Events before it are not sent, nor are those after SetWebhook("").
func (s *Server) SetWebhook(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook.url = url
}

// SetWebhookSecret replaces the secret that deliveries are signed with, as a rotation does; App still tells the first one.
func (s *Server) SetWebhookSecret(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook.secret = secret
}

// SetWebhookTimeout replaces the ten seconds that a receiver has to answer. Call it before anything is sent.
func (s *Server) SetWebhookTimeout(d time.Duration) { s.hooks.client.Timeout = d }

// OnDelivery lets a test decide what becomes of each first attempt: it may be lost, doubled or held back. Redeliveries and
// released ones are not asked about. The function is called between deliveries, so it must not wait for them; nil delivers everything.
func (s *Server) OnDelivery(passage func(Delivery) Passage) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.passage = passage
}

// Release sends what was held back, in the order of the events, behind everything that is queued.
func (s *Server) Release() {
	h := s.hooks
	h.mu.Lock()
	held := h.held
	h.held = nil
	h.mu.Unlock()
	for _, d := range held {
		d.free = true
	}
	h.add(held...)
}

// Flush waits until every event that happened before it was answered, lost or held back.
func (s *Server) Flush(ctx context.Context) error {
	h := s.hooks
	h.mu.Lock()
	goal := h.sent
	h.mu.Unlock()
	for {
		h.mu.Lock()
		settled, turn := h.settled, h.turn
		h.mu.Unlock()
		if settled >= goal {
			return nil
		}
		select {
		case <-turn:
		case <-h.ctx.Done():
			return errors.New("waiting for webhooks: the server has stopped")
		case <-ctx.Done():
			return fmt.Errorf("waiting for webhooks, %d of %d are settled: %w", settled, goal, ctx.Err())
		}
	}
}
