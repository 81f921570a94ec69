# The relay, and the program that answers its questions about tokens: both of the Media-over-QUIC project, built from their crates.
ARG RUST_IMAGE=rust:1.95.0-slim-bookworm@sha256:d7482085ff5b415f84dba5647ae71606650bdef00db7aeb69f4b3d170c3e4082
ARG DEBIAN_IMAGE=debian:12-slim@sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251
FROM ${RUST_IMAGE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends cmake clang && rm -rf /var/lib/apt/lists/*
# Without --locked: a crate of the locked list is not there any more.
RUN cargo install moq-relay --version 0.17.10 --no-default-features --features noq,websocket --root /built
RUN cargo install moq-cli --version 0.14.10 --no-default-features --features noq,websocket --root /built

FROM ${DEBIAN_IMAGE}
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=build /built/bin/moq-relay /built/bin/moq /usr/local/bin/
USER 65534:65534
WORKDIR /tmp
