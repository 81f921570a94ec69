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
effects = Effects
mirror = Mirror
more-quality = Sharper
less-quality = Faster

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
is-likely = seems to be there
