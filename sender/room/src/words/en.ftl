# Words of the room.
app = Duet
back = Back
cancel = Cancel
close = Close
done = Done
copy = Copy
name-of-other = Name of the other musician
unnamed = friend

# People
people = People
people-none = Nobody is here yet
people-none-what = Get to know somebody once: one of you makes a link and sends it, the other opens it. From then on a click calls.
call = Call
invite = Invite somebody
join = I have a link
settings = Settings
rename = Rename
remove = Remove
save = Save
is-there = is there
is-away = is not there
is-busy = is in another call
is-unknown = looking whether there
last-call = last call { $when }
remove-sure = Remove { $name }?
remove-what = { $name } can then not call you any more, and a call that is under way ends. To meet again you make a new link.
reasons = What happened lately

# Invite
invite-title = Invite somebody
invite-what = You get a link. Send it in any message, such as by e-mail or chat; the other musician opens it in Duet.
invite-make = Make the link
invite-making = Finding out how this computer can be reached
invite-send = Send this link to { $name }
invite-keep = It works once, for ten minutes, while this window is open.
invite-qr = Or show it to a camera
invite-answer = If the other side shows an answer, paste it here
invite-done = { $name } has joined. From now on a click calls.
call-now = Call { $name } now

# Join
join-title = Join with a link
join-what = Paste the link that the other musician has sent you.
join-link = Link
code-read = Read the code with the camera
code-hold = Hold the code of the other screen before your camera.
code-end = Without the camera
join-do = Join
join-clipboard = There is a link in the clipboard. Join with it?
join-looking = Looking for the computer that made the link
join-answer = Nobody has answered yet. If this goes on, send this line back: it belongs where the link was made.
join-done = You know { $name } now. From now on a click calls.
join-bad = This is not a link of Duet: it begins with “duet”.
failed = That did not work

# A call that comes
ringing = { $name } is calling
ringing-what = Take it, and you see and hear each other.
take = Take
decline = Decline

# In the call
looking-for = Looking for { $name }
looking-seconds = { $seconds ->
    [one] for { $seconds } second
   *[other] for { $seconds } seconds
}
looking-why = If this goes on: is Duet open there, and is that computer in the network?
hang-up = Hang up
mute = Microphone off
unmute = Microphone on
hide-self = Without me
show-self = See myself
hide-picture = Hide my picture
show-picture = Show my picture
fullscreen = Full screen
window = Window
snapshot = Picture
figures = Figures
mirror = Mirror
adjust = Adjust
balance = Latency against quality
balance-soon = soon there
balance-fine = finer
effect-detail = Sharpness
effect-noise = Noise of the camera
effect-still-noise = Noise where nothing moves
effect-even-light = Even light
effects-off = Without effects
effects-on = With effects
record = Record
record-end = End recording
you-record = You record
recorded-in = Recordings are in { $folder }.
record-failed = Nothing is recorded any more: { $reason }

# First start and settings
start-title = Welcome to Duet
start-what = Choose your camera and sound card. Both can be changed later.
start-go = All right
settings-title = Settings
camera = Camera
camera-none = No camera is connected. Without one the other side hears you and sees nothing.
camera-searching = Looking for cameras
camera-pattern = Test picture
preview = Preview
sound-card = Sound
sound-none = Without sound
sound-auto = Chosen by Duet
microphone = Your microphone: speak or play, and the bar moves.
tone-play = Play a tone
tone-end = End the tone
computer = This computer
checking = Looking at this computer
check-again = Look again
check-good = Good
check-weak = Could be better
check-bad = Must be mended

# Failures
no-write = That could not be written: { $reason }
call-ended = The call with { $name } has ended.

# Reasons why a call did not come about
why-missed = called, and nobody here took the call
why-not-taken = it rang there, and nobody took the call
why-not-found = was not found: Duet may not be open there, or that computer has no network
why-no-network = this computer had no network
why-busy = was in a call with somebody else
why-declined = declined the call
why-do-not-disturb = did not want to be disturbed
why-removed = does not know this computer any more: make a new link
why-other-program = another program or version ran there
why-large-packets = the line does not let packets of a call’s size through
call-kept = { $name }: { $reason }
rings-there = It rings at { $name }
told-busy = { $name } has called and was told that you are in a call.
told-not-disturb = { $name } has called and was told that you do not want to be disturbed.

# Answer to whoever calls
answer = When somebody calls
answer-rings = It rings
answer-at-once = Take the call at once
answer-disturb = Do not disturb
they-record = The other side records
they-hide = The other side hides its picture
say-something = Write to the other side
send = Send
texts = Messages
dht = Find each other although an address changes
dht-what = Duet leaves your address, sealed, in BitTorrent’s network. Some schools and firms forbid that network.
dht-ask = May others whom you know find you although an address changes?
dht-use = Use it
dht-without = Do without
is-likely = seems to be there

# Sentences of the engine and of the doctor
engine-behind = Picture { $ms } ms behind, { $said }
engine-delay-unknown = Picture, its delay not known yet, { $said }
engine-line-good = line good
engine-held = held up { $ms } ms by { $said }
engine-by-there = the computer there
engine-by-here = this computer
engine-by-line = the line
engine-fair = line fair: { $share } % of pictures damaged
engine-fair-held = line fair: { $share } % of pictures damaged, { $said }
engine-poor = line poor: { $share } % of pictures damaged
engine-poor-held = line poor: { $share } % of pictures damaged, { $said }
engine-busy-there = the computer there is too busy: { $share } % of pictures not finished
engine-busy-here = this computer is too busy: { $share } % of pictures damaged
engine-slow-show = This computer is too slow to show { $rate } pictures a second
engine-slow-send = This computer is too slow: it sends { $some } of { $all } pictures a second
engine-sound-only-slow = This computer is too slow for pictures: it sends sound only, and tries again
engine-sound-behind = { $said }; sound { $ms } ms behind
engine-hidden = Your picture is hidden: nobody sees you
engine-no-camera = Your camera is missing: this computer looks for it
engine-records = { $name } records this call
engine-records-both = You and { $name } record this call
engine-records-own = You record this call
engine-records-no-more = { $name } does not record any more
engine-hides = { $name } hides the picture
engine-elsewhere = { $name } is in a call with another machine; { $said }
engine-again = looking again
engine-waiting = waiting for a call
engine-calling-again = calling again
engine-no-picture = No picture from { $name } for { $time }; the line works, so it is the camera or computer there
engine-missing = { $name } has been missing for { $time }; { $said }
engine-first = { $name } is there; waiting for the first picture
engine-left = { $name } left { $time } ago; { $said }
engine-looking = Looking for { $name }, { $time }; { $said }
engine-must-run = { $name } must run `sender call`, too
engine-rings = It rings at { $name }, who has not taken the call yet
engine-sound-only = Sound only. { $said }
engine-withheld = Sound only: { $name } sends no pictures
engine-fault = { $said }: no picture from { $name } for { $time }; { $then_said }
engine-stalled = Camera stalled
engine-lost = Camera lost
engine-unusable = Camera's pictures unusable
engine-none = No pictures
engine-never-stalled = { $name } is there and the camera gives no picture yet, { $time }; { $said }
engine-never-camera = { $name } is there and has no camera yet, { $time }; { $said }
engine-never-usable = { $name } is there and no picture of the camera can be used yet, { $time }; { $said }
engine-never-sends = { $name } is there and sends no pictures, { $time }; { $said }
engine-tried-waits = the computer there waits for it
engine-tried-open = the computer there tries to open it again
engine-tried-says = the computer there says why
engine-tried-nobody = nobody there wants it, or the computer there has no time for them
engine-no-network = this computer has no network
engine-busy = the other side is in a call with another machine
engine-declined = the call was declined there
engine-not-now = nobody there wants to be disturbed now
engine-removed = this machine was removed there and is not known any more: introduce the two anew
engine-other-program = another program or version runs there: start `sender call` on both sides
engine-packets = packets of 1200 bytes do not get through
engine-not-found = if Duet runs there, too, the address of one may have changed: introduce the two anew with `invite` and `join`
engine-esc = Press Esc again to end
engine-saved = Saved { $path }
engine-way = The connection has changed: packets now come { $way }
engine-volume = The other side is played at { $percent } %
engine-priority-sound = not in use, and this user may take it: sound does; `chrt --rr 1 sender call NAME` also keeps other programs from holding pictures up
engine-priority-rtkit = rtkit gives sound up to { $most }
engine-priority-none = not for this user: when the computer is busy, other programs may hold pictures up, and sound drops out
engine-priority-advice = as root: echo '@audio - rtprio 20' >/etc/security/limits.d/25-duet.conf; log in again as a member of the group audio (or install rtkit); `chrt --rr 1 sender call NAME` gives it to pictures, too; the system units have it
engine-clock-slow = the kernel reads the time from { $source }, which is slow or coarse: latencies are inexact
engine-clock-set = set by { $setter }
engine-clock-unset = nothing here is seen to set the time of day: tickets are good for ten minutes by the clocks of both sides
engine-clock-advice = `sudo timedatectl set-ntp true`, or compare the clock with another one
engine-mtu-none = no network leads out of this house: nothing to look at
engine-mtu-small = { $bytes } bytes on { $card }: datagrams are smaller than usual, which costs some of the rate
engine-mtu-tiny = { $bytes } bytes on { $card }: no call is possible below { $least }
engine-mtu-good = { $bytes } bytes on { $card }; what the way beyond bears is found out in each call
engine-buffers-small = { $receive } bytes to receive and { $send } to send instead of { $wanted }: bursts may be lost
engine-buffers-good = { $wanted } bytes each way
engine-as-root = as root: { $command }
engine-udp-good = leaves this house: servers outside answer
engine-udp-bad = no server outside answers: UDP may not leave this house, or the servers are down
engine-udp-advice = allow UDP in the firewall, or name other servers in `[expert] stun`
engine-router-silent = what stands between this machine and the outside cannot be told
engine-router-one = it shows everybody outside one port ({ $ip }), as routers at home do
engine-router-each = it shows everybody outside another port ({ $ip }), as mobile networks and some companies do
engine-ipv6-works = works: two homes that have it need nothing of their routers but to let answers in
engine-ipv6-unanswered = this machine has an address, but nobody outside answers over it
engine-ipv6-none = none here: calls go over IPv4
engine-relay-none = none is named in `[reach] turn`
engine-dht-silent = BitTorrent's network does not answer, as where it is forbidden: calls go on without it
