// Package webhook receives GitHub's webhooks. It checks where a delivery comes from, and records it together with the runs
// and jobs that it asks for in one transaction, before it answers. It asks GitHub nothing: what cannot be told from the
// payload and the store is left to a job.
//
// GitHub does not redeliver by itself, so nothing that was answered with 2xx may be lost, and what could not be stored is
// answered with 503, so that it is listed as failed and can be asked for again.
package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
)

const (
	// MaxPayload is the largest payload that is read, in bytes. GitHub sends none above 25 MB.
	MaxPayload = 25 << 20
	// MinSecret is the shortest secret that is accepted, in bytes.
	MinSecret = 32
	// readTimeout bounds the reading of a body, and workTimeout what is done with it. GitHub takes a delivery for failed after
	// ten seconds.
	readTimeout = 10 * time.Second
	workTimeout = 8 * time.Second
	// maxGUID bounds an identifier that somebody else makes. GitHub's have 36 characters.
	maxGUID = 100
)

// Options of the receiver.
type Options struct {
	// Secrets that deliveries may be signed with, each of MinSecret bytes or more: one, or the old and the new one while the
	// secret is exchanged. Required.
	Secrets [][]byte
	Store   *store.Store // required
	Queue   queue.Queue  // required
	AppID   int64        // our own App; its events would have us talk to ourselves. Required
	// Login is our own account, such as prosecutor[bot]. Required.
	Login    string
	Logger   *slog.Logger          // discards by default
	Registry prometheus.Registerer // of the metrics; may be nil
}

// Handler is the receiver. It is safe for concurrent use.
type Handler struct {
	o        Options
	handlers map[string]handler
	metrics  *metrics
}

// New makes a receiver. It refuses to work without a secret that cannot be guessed: everybody could then have changes judged,
// and say how that went.
func New(o Options) (http.Handler, error) {
	var errs []error
	if len(o.Secrets) == 0 {
		errs = append(errs, errors.New("there is no webhook secret: set one for the App and here, such as the output of `openssl rand -hex 32`"))
	}
	for i, s := range o.Secrets {
		if len(s) < MinSecret {
			errs = append(errs, fmt.Errorf("webhook secret %d has %d bytes, and must have at least %d: use the output of `openssl rand -hex 32`", i+1, len(s), MinSecret))
		}
	}
	if o.Store == nil || o.Queue == nil || o.AppID == 0 || o.Login == "" {
		errs = append(errs, errors.New("the webhook receiver needs a store, a queue, the App's id and its login"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{o: o, handlers: handlers()}
	var err error
	if h.metrics, err = newMetrics(o.Registry, h.handlers); err != nil {
		return nil, err
	}
	return h, nil
}

// answer is the body of every response.
type answer struct {
	Delivery string `json:"delivery,omitempty"`
	Status   string `json:"status"`
	Reason   string `json:"reason,omitempty"`
}

// The statuses of an answer, and the outcomes that are counted.
const (
	enqueued     = "enqueued"      // work follows
	done         = "done"          // all was done at once
	duplicate    = "duplicate"     // its work is done already
	ignored      = "ignored"       // it asks for nothing
	badMethod    = "bad_method"    // 405
	badSignature = "bad_signature" // 401
	malformed    = "malformed"     // 400
	tooLarge     = "too_large"     // 413
	unavailable  = "unavailable"   // 503
)

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	status, a := h.serve(w, r)
	event := r.Header.Get("X-GitHub-Event")
	h.metrics.observe(event, a.Status, time.Since(began))
	level := slog.LevelDebug
	if status >= http.StatusBadRequest {
		level = slog.LevelWarn
	}
	// The reason of an answer is in our own words, and holds nothing of the body of an unsigned request.
	h.o.Logger.Log(r.Context(), level, "webhook", "delivery", a.Delivery, "event", h.metrics.label(event), "status", a.Status, "reason", a.Reason, "code", status)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(a) // whoever has gone does not need it
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) (int, answer) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, answer{Status: badMethod, Reason: "webhooks are posted"}
	}
	// A request without a well-formed signature is not worth reading.
	signature, ok := parseSignature(r.Header.Get("X-Hub-Signature-256"))
	if !ok {
		return http.StatusUnauthorized, answer{Status: badSignature, Reason: "X-Hub-Signature-256 is missing or malformed; set a secret for the App's webhook"}
	}
	body, err := read(w, r)
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return http.StatusRequestEntityTooLarge, answer{Status: tooLarge, Reason: fmt.Sprintf("the payload has more than %d bytes", large.Limit)}
		}
		return http.StatusBadRequest, answer{Status: malformed, Reason: "the payload did not come whole"}
	}
	if !h.signed(body, signature) {
		return http.StatusUnauthorized, answer{Status: badSignature, Reason: "the signature is not by a secret of ours"}
	}
	d := delivery{GUID: r.Header.Get("X-GitHub-Delivery"), Event: r.Header.Get("X-GitHub-Event"), Body: body}
	if !printable(d.GUID) || !printable(d.Event) {
		return http.StatusBadRequest, answer{Status: malformed, Reason: "X-GitHub-Delivery or X-GitHub-Event is missing or malformed"}
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return http.StatusBadRequest, answer{Delivery: d.GUID, Status: malformed, Reason: "the content type is not application/json; choose it for the App's webhook"}
	}
	return h.receive(r.Context(), d)
}

func read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	// Not every writer has deadlines, those of tests have none; the server's own one holds as well.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout))
	return io.ReadAll(http.MaxBytesReader(w, r.Body, MaxPayload))
}

// printable reports whether a header is one or more visible ASCII characters.
func printable(s string) bool {
	if s == "" || len(s) > maxGUID {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// parseSignature reads the header sha256=HEX.
func parseSignature(s string) ([]byte, bool) {
	digits, ok := strings.CutPrefix(s, "sha256=")
	if !ok {
		return nil, false
	}
	sum, err := hex.DecodeString(digits)
	return sum, err == nil && len(sum) == sha256.Size
}

// signed reports whether one of the secrets made the signature. It takes as long whichever one it was, or none.
func (h *Handler) signed(body, signature []byte) bool {
	ok := false
	for _, secret := range h.o.Secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		ok = hmac.Equal(mac.Sum(nil), signature) || ok
	}
	return ok
}

// droppedError rolls a delivery back that turned out to ask for nothing.
type droppedError struct{ reason string }

func (e *droppedError) Error() string { return e.reason }

// receive does what a signed delivery asks for.
func (h *Handler) receive(ctx context.Context, d delivery) (int, answer) {
	a := answer{Delivery: d.GUID}
	if err := json.Unmarshal(d.Body, &d.envelope); err != nil {
		a.Status, a.Reason = malformed, "the payload is no JSON object that GitHub would send"
		return http.StatusBadRequest, a
	}
	work, reason, err := h.parse(&d)
	if err != nil {
		a.Status, a.Reason = malformed, "the payload is not one of a "+d.Event+" event"
		h.o.Logger.WarnContext(ctx, "a signed payload cannot be read", "delivery", d.GUID, "event", d.Event, "error", err)
		return http.StatusBadRequest, a
	}
	if reason != "" {
		a.Status, a.Reason = ignored, reason
		return http.StatusAccepted, a
	}
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	var out outcome
	err = h.o.Store.InTx(ctx, func(tx *store.Tx) error {
		var err error
		out, err = h.record(ctx, tx, d, work)
		return err
	})
	var dropped *droppedError
	switch {
	case errors.As(err, &dropped):
		a.Status, a.Reason = ignored, dropped.reason
	case err != nil:
		a.Status, a.Reason = unavailable, "the delivery could not be stored; ask for it again later"
		h.o.Logger.ErrorContext(ctx, "a delivery could not be stored", "delivery", d.GUID, "event", d.Event, "error", err)
		return http.StatusServiceUnavailable, a
	default:
		a.Status, a.Reason = out.status, out.reason
	}
	return http.StatusAccepted, a
}

// parse finds the handler of a delivery and has it read the payload. A reason says that there is nothing to do.
func (h *Handler) parse(d *delivery) (work, string, error) {
	handle, ok := h.handlers[d.Event]
	switch {
	case !ok:
		return nil, "the event is not served", nil
	case !handle.serves(d.Action):
		return nil, "the action is not served", nil
	case d.Installation.ID == 0:
		return nil, "it is not about an installation of the App", nil
	case handle.repository && (d.Repository.ID == 0 || d.Repository.Name == "" || d.Repository.Owner.Login == ""):
		return nil, "", errors.New("it names no repository")
	case h.ours(d.Sender) && !handle.ours:
		return nil, "it is our own doing", nil
	}
	return handle.parse(h, d)
}

// record is the transaction of a delivery.
func (h *Handler) record(ctx context.Context, tx *store.Tx, d delivery, do work) (outcome, error) {
	row, fresh, err := tx.Receive(ctx, store.Delivery{GUID: d.GUID, Event: d.Event, Action: d.Action, Installation: d.Installation.ID, RepoID: d.Repository.ID,
		Sender: d.Sender.Login, Payload: d.Body})
	if err != nil {
		return outcome{}, err
	}
	if !fresh {
		return outcome{status: duplicate, reason: row.Reason}, nil
	}
	if d.Repository.ID != 0 {
		err := tx.SeeRepository(ctx, store.Repository{ID: d.Repository.ID, Installation: d.Installation.ID, Owner: d.Repository.Owner.Login, Name: d.Repository.Name})
		if err != nil {
			return outcome{}, err
		}
	}
	s := &scope{Tx: tx, q: h.o.Queue, d: d, id: row.ID}
	// The deliveries of a run are settled when it ends, so this one has to be under way before a run is asked for.
	if err := tx.SetDelivery(ctx, row.ID, store.Enqueued, ""); err != nil {
		return outcome{}, err
	}
	out, err := do(ctx, s)
	if err != nil {
		return outcome{}, err
	}
	switch out.status {
	case ignored:
		err = tx.SetDelivery(ctx, row.ID, store.Ignored, out.reason)
	case done:
		err = tx.SetDelivery(ctx, row.ID, store.Done, out.reason)
	}
	return out, err
}
