#!/bin/sh
# house.sh SENDER FOLDER HOUSE
#
# Two machines in one house: network namespaces on one bridge, without a router, a STUN and a mailbox server. Each knows of the
# other its key and an address at which nobody is. With HOUSE=true in [expert] both have a picture of the other soon; with false they
# say that they have not found each other. Leaves logs and statistics in FOLDER. Needs root. Ends with 77 where namespaces cannot
# be made.
set -eu

sender=$1 folder=$2 house=$3
id=dh$$

finish() {
    for space in "$id-a" "$id-b"; do
        ip netns pids "$space" 2>/dev/null | xargs -r kill 2>/dev/null || true
    done
    for space in "$id-a" "$id-b" "$id-bridge"; do
        ip netns del "$space" 2>/dev/null || true
    done
}
trap finish EXIT

if ! { ip netns add "$id-bridge" && ip -n "$id-bridge" link add house type bridge; }; then
    echo "network namespaces cannot be made here: run this as root, in a container with CAP_SYS_ADMIN" >&2
    exit 77
fi
ip -n "$id-bridge" link set house up
number=1
for side in a b; do
    ip netns add "$id-$side"
    ip -n "$id-$side" link set lo up
    ip link add eth0 netns "$id-$side" type veth peer name "to$side" netns "$id-bridge"
    ip -n "$id-bridge" link set "to$side" master house up
    ip -n "$id-$side" addr add "192.168.7.$number/24" dev eth0
    ip -n "$id-$side" link set eth0 up
    ip -n "$id-$side" route add default via 192.168.7.254
    number=$((number + 1))
done

# write SIDE OTHER: a configuration that knows where the other has been, long ago.
write() {
    cat >"$folder/$1.toml" <<CONFIGURATION
expert.stun = []
expert.open_port = false
expert.house = $house
[[peer]]
name = "$2"
public_key = "$("$sender" identity --identity "$folder/$2.pem")"
addresses = ["192.168.7.99:4820"]
port = 4820
CONFIGURATION
}
write a b
write b a

# call SIDE OTHER: becomes the program.
call() {
    exec ip netns exec "$id-$1" "$sender" call "$2" --config "$folder/$1.toml" --identity "$folder/$1.pem" --sink headless \
        --backend cpu --rate 2M --source pattern:size=64x48:fps=30 --stats "$folder/$1.jsonl" 2>"$folder/$1.log"
}
call a b &
a=$!
call b a &
b=$!

# met SIDE: has it come to what is expected there?
met() {
    if [ "$house" = true ]; then
        tail -n 1 "$folder/$1-received.jsonl" 2>/dev/null | grep -q '"frames_shown":[1-9]'
    else
        grep -q "was not found yet" "$folder/$1.log"
    fi
}
for side in a b; do
    until met $side; do
        kill -0 $a && kill -0 $b || { cat "$folder/a.log" "$folder/b.log" >&2; exit 1; }
        sleep 0.1
    done
done
kill $a $b
wait $a
wait $b
