# The image of prosecutor serve: one static binary, git (for changes that GitHub's interfaces do not show in full, and for
# merge groups) and the certificates of public authorities. See docs/operations.md.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY app.yml appmanifest.go ./
COPY app ./app
COPY cmd ./cmd
COPY config ./config
COPY convergence ./convergence
COPY prosecutor ./prosecutor
# What the program says its version is: docker build --build-arg VERSION=v1.2.3 .
ARG VERSION=""
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.release=${VERSION}" -o /out/prosecutor ./cmd/prosecutor

FROM debian:stable-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/prosecutor --create-home --shell /usr/sbin/nologin prosecutor
COPY --from=build /out/prosecutor /usr/local/bin/prosecutor
USER 10001
# The SQLite database, unless DATABASE_URL names PostgreSQL, and prosecutor-server.yml.
WORKDIR /var/lib/prosecutor
VOLUME /var/lib/prosecutor
EXPOSE 8080
# /healthz and /readyz are for the orchestrator to ask; the image has no client to ask them with.
HEALTHCHECK NONE
ENTRYPOINT ["prosecutor"]
CMD ["serve"]
