#!/bin/sh
# mailbox.sh FRONT: a server of connections, in a network namespace with one of the limits of docker/meet before it, and a stranger in
# another one who takes what it can. FRONT: nft or proxy. Prints how many connections the stranger has at once of 40 tried, how many
# more it gets when it has let them go, how many bytes the server has heard of it on one connection in some seconds, and whether
# another address gets in meanwhile. Needs root. Ends with 77 where something is missing.
set -eu

front=$1
meet=$(cd "$(dirname "$0")/../../../docker/meet" && pwd)
here=$(mktemp -d)
# The proxy's workers are nobody's.
chmod 755 "$here"
server=dm-a-$$ stranger=dm-b-$$

finish() {
    for space in "$server" "$stranger"; do
        ip netns pids "$space" 2>/dev/null | xargs -r kill 2>/dev/null || true
        ip netns del "$space" 2>/dev/null || true
    done
    rm -rf "$here"
}
trap finish EXIT

missing() { echo "$1" >&2; exit 77; }
command -v python3 >/dev/null || missing "there is no python3 here"
if [ "$front" = nft ]; then
    command -v nft >/dev/null || missing "there is no nft here: install the package nftables"
else
    module=$(find /usr/lib/nginx /usr/share/nginx -name ngx_stream_module.so 2>/dev/null | head -n 1)
    { command -v nginx >/dev/null && [ -n "$module" ]; } || missing "there is no nginx with streams here: install nginx-light and libnginx-mod-stream"
fi
if ! { ip netns add "$server" && ip netns add "$stranger" &&
    ip link add eth0 netns "$server" type veth peer name eth0 netns "$stranger"; }; then
    missing "network namespaces cannot be made here: run this as root, in a container with CAP_SYS_ADMIN"
fi
for space in "$server" "$stranger"; do
    ip -n "$space" link set lo up
    ip -n "$space" link set eth0 up
done
ip -n "$server" addr add 10.78.0.1/24 dev eth0
ip -n "$stranger" addr add 10.78.0.2/24 dev eth0
ip -n "$stranger" addr add 10.78.0.3/24 dev eth0

port=4000
if [ "$front" = nft ]; then
    ip netns exec "$server" nft -f "$meet/mailbox.nft"
else
    port=4001
    { echo "load_module $module;" && sed "s#/tmp/#$here/#g" "$meet/proxy.conf"; } >"$here/proxy.conf"
    ip netns exec "$server" nginx -g "daemon off;" -c "$here/proxy.conf" 2>"$here/proxy.log" &
fi

# Answers as a server of WebSockets does, and counts what it hears.
cat >"$here/listen.py" <<'LISTEN'
import asyncio, sys
heard = 0
async def serve(reader, writer):
    global heard
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    while data := await reader.read(65536):
        if b"how much?" in data:
            writer.write(b"%d\n" % heard)
        else:
            heard += len(data)
async def main():
    server = await asyncio.start_server(serve, None, int(sys.argv[1]))
    print("listens", flush=True)
    await server.serve_forever()
asyncio.run(main())
LISTEN
cat >"$here/take.py" <<'TAKE'
import socket, time
def call(source="10.78.0.2"):
    try:
        one = socket.create_connection(("10.78.0.1", 4000), 10, (source, 0))
        one.sendall(b"GET /v1 HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        return one if b" 101 " in one.recv(1000) else None
    except OSError:
        return None
held = [one for one in (call() for _ in range(40)) if one]
print("at once", len(held))
sent, end = held[0], time.monotonic() + 4
sent.settimeout(0.2)
while time.monotonic() < end:
    try:
        sent.send(bytes(65536))
    except OSError:
        pass
other = call("10.78.0.3")
print("another", "gets in" if other else "does not get in")
other.sendall(b"how much?")
print("heard", int(other.recv(100)))
for one in held:
    one.close()
print("more", sum(call() is not None for _ in range(40)))
TAKE
ip netns exec "$server" python3 "$here/listen.py" "$port" >"$here/listens" &
tries=0
until grep -qs listens "$here/listens" && { [ "$front" = nft ] || [ -S "$here/mailbox.sock" ]; }; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { cat "$here"/*.log >&2; exit 1; }
    sleep 0.1
done
ip netns exec "$stranger" python3 "$here/take.py"
