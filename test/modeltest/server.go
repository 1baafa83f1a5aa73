// Package modeltest is a stand-in for the APIs of model providers. One HTTP server speaks OpenAI's chat completions (at
// any path that ends with /chat/completions) and Anthropic's messages (/messages), plain or streamed, and is told for
// each request how to behave: to answer, to answer badly, to be slow, to hang, to refuse, or to fail in the ways in which
// such servers fail.
//
// It holds requests to what the real APIs demand and answers others with the API's own kind of error, so that an adapter
// cannot pass a test with a request that a provider would reject. It records every request and computes nothing about a
// verdict: what is answered is what the test said.
//
//	models := modeltest.New(t)
//	models.Queue("gpt-test", modeltest.RateLimit(time.Second), modeltest.Ship())
//	// base_url: models.OpenAI() or models.Anthropic()
package modeltest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// maxRequest bounds a request body, as the providers do (Anthropic documents 32 MB).
const maxRequest = 32 << 20

// Server is the stand-in. Its methods are safe for concurrent use.
type Server struct {
	URL string // the root, without a trailing slash

	http    *httptest.Server
	closing chan struct{}
	once    sync.Once

	mu         sync.Mutex
	queues     map[string][]Behaviour
	respond    func(Request) (Behaviour, bool)
	fallback   *Behaviour
	keys       []string
	keyless    bool
	models     []string
	rejects    map[string][]string
	words      bool
	requests   []Request
	rejected   []string
	unexpected []string
	arrived    chan struct{} // closed and replaced on every request
}

// New starts a server that ends with the test. A request that no behaviour was told for fails the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := Start()
	t.Cleanup(func() {
		s.Close()
		for _, what := range s.Unexpected() {
			t.Errorf("modeltest: %s", what)
		}
	})
	return s
}

// Start starts a server outside of a test. The caller closes it.
func Start() *Server {
	s := &Server{
		closing: make(chan struct{}),
		queues:  map[string][]Behaviour{},
		rejects: map[string][]string{},
		arrived: make(chan struct{}),
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close ends the server, and every request that hangs.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closing)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// OpenAI is the base_url for the openai adapter.
func (s *Server) OpenAI() string { return s.URL + "/v1" }

// Anthropic is the base_url for the anthropic adapter.
func (s *Server) Anthropic() string { return s.URL }

// Queue appends behaviours for the requests to a model. They are used once each, in order.
func (s *Server) Queue(model string, b ...Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues[model] = append(s.queues[model], b...)
}

// Respond decides by a function, for example on Request.Lens. It is asked first; where it says false, the queue of the
// model and then the default decide. It may be called for several requests at once.
func (s *Server) Respond(f func(Request) (Behaviour, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.respond = f
}

// Default is the behaviour for requests that nothing else decides.
func (s *Server) Default(b Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fallback = &b
}

// Keys are the API keys that are accepted; others get a 401. Without any, every key is accepted, but one there must be.
func (s *Server) Keys(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys
}

// Keyless accepts requests without a key, as local servers do.
func (s *Server) Keyless() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keyless = true
}

// Models are the models that exist; others get a 404. Without any, every model exists.
func (s *Server) Models(models ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = models
}

// Rejects makes the API reject requests to a model that use one of the features: "json_schema", "json_object",
// "max_tokens" or "max_completion_tokens". Such a request gets a 400 and uses up no behaviour.
func (s *Server) Rejects(model string, features ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejects[model] = features
}

// RejectsInWords makes Rejects answer without code and parameter, as many compatible servers do.
func (s *Server) RejectsInWords() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words = true
}

// Requests returns the requests that the API took for valid, in the order of their arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Calls counts the valid requests to a model; to all models when the name is empty.
func (s *Server) Calls(model string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for i := range s.requests {
		if model == "" || s.requests[i].Model == model {
			n++
		}
	}
	return n
}

// Rejected returns why requests were rejected as invalid, unauthorised or unsupported, in order.
func (s *Server) Rejected() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rejected)
}

// Unexpected describes the requests that no behaviour was told for.
func (s *Server) Unexpected() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unexpected)
}

// Left counts the behaviours of a model that no request has used yet.
func (s *Server) Left(model string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queues[model])
}

// Wait blocks until n valid requests have arrived, or ctx ends.
func (s *Server) Wait(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		have, arrived := len(s.requests), s.arrived
		s.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return fmt.Errorf("modeltest: %d of %d requests have arrived: %w", have, n, ctx.Err())
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	var api api
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		api = openAI{}
	case strings.HasSuffix(r.URL.Path, "/messages"):
		api = anthropic{}
	default:
		s.note(&s.rejected, "no such path: "+r.URL.Path)
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		api.fail(w, Problem{Status: http.StatusRequestEntityTooLarge, Type: "request_too_large", Message: "Request exceeds the maximum size."})
		return
	}
	req, problem := api.parse(r, body)
	if problem == nil {
		problem = s.admit(req)
	}
	if problem != nil {
		s.note(&s.rejected, problem.Message)
		api.fail(w, *problem)
		return
	}
	b, ok := s.next(&req)
	if !ok {
		s.note(&s.unexpected, fmt.Sprintf("no behaviour is left for a request to model %q under lens %q", req.Model, req.Lens()))
		api.fail(w, Problem{Status: http.StatusInternalServerError, Type: "server_error", Code: "script_exhausted", Message: "the test told no behaviour"})
		return
	}
	b.serve(&exchange{server: s, api: api, w: w, r: r, req: req, b: b})
}

func (s *Server) note(list *[]string, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, what)
}

// admit checks what depends on the account and the model rather than on the form of the request.
func (s *Server) admit(req Request) *Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case req.Key == "" && !s.keyless, req.Key != "" && len(s.keys) > 0 && !slices.Contains(s.keys, req.Key):
		p := unauthorized(req)
		return &p
	case len(s.models) > 0 && !slices.Contains(s.models, req.Model):
		p := notFound(req)
		return &p
	}
	for _, feature := range s.rejects[req.Model] {
		if !req.uses(feature) {
			continue
		}
		p := Problem{
			Status: http.StatusBadRequest, Type: "invalid_request_error",
			Message: fmt.Sprintf("this server does not know %s", feature),
		}
		if !s.words {
			p.Code, p.Param = "unsupported_parameter", feature
			if strings.HasPrefix(feature, "json_") {
				p.Param = "response_format"
			}
		}
		return &p
	}
	return nil
}

// next records the request and chooses its behaviour.
func (s *Server) next(req *Request) (Behaviour, bool) {
	s.mu.Lock()
	req.Ordinal = len(s.requests)
	s.requests = append(s.requests, *req)
	close(s.arrived)
	s.arrived = make(chan struct{})
	respond := s.respond
	s.mu.Unlock()

	if respond != nil {
		if b, ok := respond(*req); ok {
			return b, true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[req.Model]; len(q) > 0 {
		s.queues[req.Model] = q[1:]
		return q[0], true
	}
	if s.fallback != nil {
		return *s.fallback, true
	}
	return Behaviour{}, false
}
