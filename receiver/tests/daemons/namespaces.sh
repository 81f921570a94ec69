#!/bin/sh
# namespaces.sh SENDER RECEIVER IN.y4m OUT.y4m FRAMES
#
# Streams IN.y4m from SENDER in one network namespace to RECEIVER in another, joined by a veth pair, and leaves the
# received pictures in OUT.y4m and the statistics beside it. Needs root. Ends with 77 where namespaces cannot be made.
set -eu

sender=$1 receiver=$2 input=$3 output=$4 frames=$5
here=$(mktemp -d)
left=duet-a-$$ right=duet-b-$$
receiver_pid=

finish() {
    [ -z "$receiver_pid" ] || kill "$receiver_pid" 2>/dev/null || true
    ip netns del "$left" 2>/dev/null || true
    ip netns del "$right" 2>/dev/null || true
    rm -rf "$here"
}
trap finish EXIT

if ! { ip netns add "$left" && ip netns add "$right" &&
    ip link add "da$$" netns "$left" type veth peer name "db$$" netns "$right"; }; then
    echo "network namespaces cannot be made here: run this as root, in a container with CAP_SYS_ADMIN" >&2
    exit 77
fi
ip -n "$left" addr add 10.77.0.1/30 dev "da$$"
ip -n "$right" addr add 10.77.0.2/30 dev "db$$"
for namespace in "$left" "$right"; do
    ip -n "$namespace" link set lo up
done
ip -n "$left" link set "da$$" up
ip -n "$right" link set "db$$" up

sender_key=$("$sender" identity --identity "$here/sender.pem")
receiver_key=$("$receiver" identity --identity "$here/receiver.pem")

ip netns exec "$right" "$receiver" --listen 10.77.0.2:4820 --peer "$sender_key" --identity "$here/receiver.pem" \
    --backend cpu --sink "y4m:$output" --stats "$output.receiver.jsonl" &
receiver_pid=$!
ip netns exec "$left" "$sender" --to 10.77.0.2:4820 --peer "$receiver_key" --identity "$here/sender.pem" \
    --backend cpu --source "y4m:$input" --frames "$frames" --rate 10M --stats "$output.sender.jsonl"
wait "$receiver_pid"
receiver_pid=
