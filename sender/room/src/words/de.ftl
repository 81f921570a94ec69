# Wörter des Raums.
app = Duet
back = Zurück
cancel = Abbrechen
close = Schließen
done = Fertig
copy = Kopieren
name-of-other = Name des anderen Musikers
unnamed = Freund

people = Leute
people-none = Noch ist niemand hier
people-none-what = Lernt euch einmal kennen: Einer macht einen Link und schickt ihn, der andere öffnet ihn. Von da an genügt ein Klick.
call = Anrufen
invite = Jemanden einladen
join = Ich habe einen Link
settings = Einstellungen
rename = Umbenennen
remove = Entfernen
save = Speichern
is-there = ist da
is-away = ist nicht da
is-busy = ist in einem anderen Anruf
is-unknown = wird gesucht
last-call = letzter Anruf { $when }
remove-sure = { $name } entfernen?
remove-what = { $name } kann dich dann nicht mehr anrufen, und ein laufender Anruf endet. Für ein Wiedersehen macht ihr einen neuen Link.
reasons = Was zuletzt geschah

invite-title = Jemanden einladen
invite-what = Du bekommst einen Link. Schick ihn in irgendeiner Nachricht, etwa per E-Mail oder Chat; der andere Musiker öffnet ihn in Duet.
invite-make = Link machen
invite-making = Es wird gesucht, wie dieser Computer erreichbar ist
invite-send = Schick diesen Link an { $name }
invite-keep = Er gilt einmal, zehn Minuten lang, solange dieses Fenster offen ist.
invite-qr = Oder zeig ihn einer Kamera
invite-answer = Zeigt die andere Seite eine Antwort, füg sie hier ein
invite-done = { $name } ist dabei. Von jetzt an genügt ein Klick.
call-now = { $name } jetzt anrufen

join-title = Mit einem Link beitreten
join-what = Füg den Link ein, den dir der andere Musiker geschickt hat.
join-link = Link
join-do = Beitreten
join-clipboard = In der Zwischenablage ist ein Link. Damit beitreten?
join-looking = Der Computer, der den Link gemacht hat, wird gesucht
join-answer = Noch hat niemand geantwortet. Bleibt es so, schick diese Zeile zurück: Sie gehört dorthin, wo der Link gemacht wurde.
join-done = Ihr kennt euch nun, du und { $name }. Von jetzt an genügt ein Klick.
join-bad = Das ist kein Link von Duet: Er beginnt mit „duet“.
failed = Das ging nicht

ringing = { $name } ruft an
ringing-what = Nimm an, und ihr seht und hört euch.
take = Annehmen
decline = Ablehnen

looking-for = { $name } wird gesucht
looking-seconds = { $seconds ->
    [one] seit { $seconds } Sekunde
   *[other] seit { $seconds } Sekunden
}
looking-why = Bleibt es so: Ist Duet dort offen, und ist jener Computer im Netz?
hang-up = Auflegen
mute = Mikrofon aus
unmute = Mikrofon an
hide-self = Ohne mich
show-self = Mich sehen
hide-picture = Mein Bild verbergen
show-picture = Mein Bild zeigen
fullscreen = Ganzer Schirm
window = Fenster
snapshot = Foto
figures = Zahlen
effects = Effekte
mirror = Spiegeln
more-quality = Schärfer
less-quality = Schneller

start-title = Willkommen bei Duet
start-what = Wähl Kamera und Soundkarte. Beides lässt sich später ändern.
start-go = In Ordnung
settings-title = Einstellungen
camera = Kamera
camera-none = Keine Kamera ist angeschlossen. Ohne sie hört dich die andere Seite und sieht nichts.
camera-searching = Kameras werden gesucht
camera-pattern = Testbild
preview = Vorschau
sound-card = Ton
sound-none = Ohne Ton
sound-auto = Duet wählt
computer = Dieser Computer
checking = Dieser Computer wird geprüft
check-again = Noch einmal prüfen
check-good = Gut
check-weak = Könnte besser sein
check-bad = Muss behoben werden

no-write = Das ließ sich nicht speichern: { $reason }
call-ended = Der Anruf mit { $name } ist zu Ende.

why-missed = hat angerufen, und niemand hier hat angenommen
why-not-taken = dort hat es geläutet, und niemand hat angenommen
why-not-found = war nicht zu finden: Vielleicht ist Duet dort nicht offen, oder jener Computer hat kein Netz
why-no-network = dieser Computer hatte kein Netz
why-busy = war im Gespräch mit jemand anderem
why-declined = hat abgelehnt
why-do-not-disturb = wollte nicht gestört werden
why-removed = kennt diesen Computer nicht mehr: Macht einen neuen Link
why-other-program = dort lief ein anderes Programm oder eine andere Version
why-large-packets = die Leitung lässt Pakete von der Größe eines Anrufs nicht durch
call-kept = { $name }: { $reason }
rings-there = Es läutet bei { $name }
told-busy = { $name } hat angerufen und erfahren, dass du im Gespräch bist.
told-not-disturb = { $name } hat angerufen und erfahren, dass du nicht gestört werden willst.

answer = Wenn jemand anruft
answer-rings = Es läutet
answer-at-once = Sofort annehmen
answer-disturb = Nicht stören
they-record = Die andere Seite zeichnet auf
they-hide = Die andere Seite verbirgt ihr Bild
say-something = Schreib der anderen Seite
send = Senden
texts = Nachrichten
dht = Einander finden, auch wenn eine Adresse wechselt
dht-what = Duet hinterlässt deine Adresse versiegelt im Netz von BitTorrent. Manche Schulen und Firmen verbieten dieses Netz.
is-likely = ist wohl da
