#!/bin/bash
# cable.sh WHAT SENDER RECEIVER FOLDER
#
# Runs the daemons of two machines on one cable, in network namespaces; their errors are in FOLDER/left.log and right.log. WHAT:
#   link-local  no addresses but those that a cable gives itself (fe80::...); the receiver listens at its own, the sender dials it
#   call        the same, but `sender call` on both sides: the left one has the other's address in its configuration
#   narrow      IPv4, by way of a router whose second cable carries packets of 1200 bytes; the sender dials for ten seconds
#   alone       the sender's machine has no network; it dials for five seconds
# Needs root. Ends with 77 where namespaces cannot be made.
set -eu

what=$1 sender=$2 receiver=$3 folder=$4
left=duet-l-$$ right=duet-r-$$ middle=duet-m-$$
pids=

finish() {
    [ -z "$pids" ] || kill $pids 2>/dev/null || true
    for namespace in "$left" "$right" "$middle"; do ip netns del "$namespace" 2>/dev/null || true; done
}
trap finish EXIT

for namespace in "$left" "$right" "$middle"; do
    if ! ip netns add "$namespace" || ! ip -n "$namespace" link set lo up; then
        echo "network namespaces cannot be made here: run this as root, in a container with CAP_SYS_ADMIN" >&2
        exit 77
    fi
done
cable() {
    ip link add "$2" netns "$1" type veth peer name "$4" netns "$3"
    ip -n "$1" link set "$2" up
    ip -n "$3" link set "$4" up
}
sender_key=$("$sender" identity --identity "$folder/sender.pem")
receiver_key=$("$receiver" identity --identity "$folder/receiver.pem")
sends=("$sender" --peer "$receiver_key" --identity "$folder/sender.pem" --backend cpu --rate 2M --source pattern:size=64x48:fps=30)
receives=("$receiver" --peer "$sender_key" --identity "$folder/receiver.pem" --backend cpu --sink headless)

# Prints the address that a cable has given its end, once it may be used.
own() {
    for _ in $(seq 100); do
        found=$(ip -n "$1" -6 -o addr show dev "$2" scope link -tentative | awk '{sub("/.*", "", $4); print $4}')
        [ -z "$found" ] || break
        sleep 0.1
    done
    echo "$found"
}

case $what in
link-local)
    cable "$left" cable0 "$right" cable1
    there=$(own "$right" cable1)
    own "$left" cable0 >/dev/null
    # The sender would call again for ever; it has done what it is here for once the receiver has its pictures.
    ip netns exec "$left" timeout 60 "${sends[@]}" --to "[$there%cable0]:4820" 2>"$folder/left.log" &
    pids=$!
    ip netns exec "$right" timeout 60 "${receives[@]}" --listen "[$there%cable1]:4820" --frames 20 2>"$folder/right.log"
    ;;
call)
    cable "$left" cable0 "$right" cable1
    there=$(own "$right" cable1)
    own "$left" cable0 >/dev/null
    more=$'expert.open_port = false\nexpert.house = false\n'
    printf '%s[[peer]]\nname = "right"\npublic_key = "%s"\nport = 4820\naddress = "[%s%%cable0]:4820"\n' \
        "$more" "$receiver_key" "$there" >"$folder/left.toml"
    printf '%s[[peer]]\nname = "left"\npublic_key = "%s"\nport = 4820\n' "$more" "$sender_key" >"$folder/right.toml"
    call=(call --sink headless --backend cpu --rate 2M --source pattern:size=64x48:fps=30 --frames 20)
    ip netns exec "$right" timeout 60 "$sender" "${call[@]}" --config "$folder/right.toml" \
        --identity "$folder/receiver.pem" 2>"$folder/right.log" &
    pids=$!
    ip netns exec "$left" timeout 60 "$sender" "${call[@]}" --config "$folder/left.toml" \
        --identity "$folder/sender.pem" 2>"$folder/left.log"
    wait "$pids"
    ;;
narrow)
    cable "$left" a0 "$middle" a1
    cable "$middle" b0 "$right" b1
    ip -n "$left" addr add 10.79.1.2/24 dev a0
    ip -n "$middle" addr add 10.79.1.1/24 dev a1
    ip -n "$middle" addr add 10.79.2.1/24 dev b0
    ip -n "$right" addr add 10.79.2.2/24 dev b1
    ip -n "$middle" link set b0 mtu 1200
    ip -n "$right" link set b1 mtu 1200
    ip -n "$left" route add default via 10.79.1.1
    ip -n "$right" route add default via 10.79.2.1
    ip netns exec "$middle" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
    ip netns exec "$right" "${receives[@]}" --listen 10.79.2.2:4820 2>"$folder/right.log" &
    pids=$!
    ip netns exec "$left" timeout -s TERM 10 "${sends[@]}" --to 10.79.2.2:4820 2>"$folder/left.log" || true
    ;;
alone)
    ip netns exec "$left" timeout -s TERM 5 "${sends[@]}" --to 192.0.2.1:4820 2>"$folder/left.log" || true
    ;;
esac
