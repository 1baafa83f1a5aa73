# Everything a developer or CI runs. `make test` installs what is missing into .cache/ and through apt.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

GOLANGCI_VERSION := v2.15.0
BIN := $(CURDIR)/.cache/bin
LINT := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)
FUZZTIME ?= 60s

# Packages with goroutines of their own run under the race detector; the others run without it, because SQLite translated to
# Go is slow to compile and to run under it.
RACE := ./prosecutor/panel/... ./prosecutor/judge/... ./prosecutor/gitrepo/... ./prosecutor/evidence ./test/modeltest/... ./app/ghclient/... ./app/command/... ./test/githubtest/...

.PHONY: test hollow hollow-core lint build tools race bench bench-hollow fuzz kill corpus clean

## test: lint, build a static binary, hold the change to hollow-test, run every test. Ends with go test's own lines.
test: tools lint build hollow
	@packages=$$(go list $(RACE)); \
	others=$$(go list ./... | grep -vxF "$$packages" || true); \
	CGO_ENABLED=1 go test -race $$packages && go test -timeout 20m $$others

## hollow: hollow-test on the change since HOLLOW_BASE (the commit before).
hollow: build
	./.ci/hollow

## hollow-core: hollow-test on every line of the packages that decide, file by file. Some twenty minutes.
hollow-core: build
	@missed=0; for f in $$(git ls-files 'prosecutor/contract/*.go' 'prosecutor/blast/*.go' 'prosecutor/diff/*.go' 'convergence/*.go' | grep -v -e _test.go -e ^convergence/store/); do \
		echo "== $$f"; bin/prosecutor hollow-test --whole --target $$f --policy .github/prosecutor.yml --budget 5m || missed=1; \
	done; exit $$missed

## race: every package under the race detector. Slow: SQLite is compiled with it.
race:
	CGO_ENABLED=1 go test -race -timeout 60m ./...

## lint: gofmt, go vet, staticcheck and the rest of golangci-lint.
lint: $(LINT)
	go vet ./...
	$(LINT) run ./...
	$(LINT) fmt --diff ./...

## build: the static binary in bin/.
build:
	CGO_ENABLED=0 go build -trimpath ./...
	CGO_ENABLED=0 go build -trimpath -o bin/prosecutor ./cmd/prosecutor

tools:
	@./.ci/install

$(LINT):
	@mkdir -p $(BIN)
	GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/golangci-lint $@

## bench: process start, a whole review, and the parser beside its peers, each beside its target.
bench: build
	go run ./test/bench -binary bin/prosecutor

## bench-hollow: mutation testing beside gremlins, in one run. Fetches public modules and gremlins through the Go proxy.
bench-hollow:
	go run ./test/benchhollow

## fuzz: every fuzz target for FUZZTIME (60s).
fuzz:
	@for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

## kill: many kills at random moments of ledger writes and of whole reviews.
kill:
	PROSECUTOR_KILLS=200 go test -count=1 -timeout 60m -run 'Kill' ./convergence/store/... ./app/queue/... ./cmd/prosecutor/...

## corpus: the corpus and vector tests against CORPUS_DIR and VECTORS_DIR, every case by name.
corpus:
	go test ./... -run 'Vectors|Corpus' -v

clean:
	rm -rf bin .cache
