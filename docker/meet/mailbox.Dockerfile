# The mailbox server at which `pair` meets: magic-wormhole's, from PyPI.
FROM python:3.13-slim@sha256:8d9d0b8bcf6506481eae4907c18f5e3e7902e629f5f6d684f9e7c32e85e3ddf0
RUN pip install --no-cache-dir --disable-pip-version-check magic-wormhole-mailbox-server==0.8.0
USER 65534:65534
WORKDIR /tmp
EXPOSE 4000
# Nothing is kept: mailboxes live for minutes.
CMD ["twist", "wormhole-mailbox", "--port=tcp:4000", "--channel-db=:memory:", "--disallow-list", \
     "--websocket-protocol-option=maxMessagePayloadSize=4096"]
