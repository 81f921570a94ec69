# Mots de la salle.
app = Duet
back = Retour
cancel = Annuler
close = Fermer
done = Terminé
copy = Copier
name-of-other = Nom de l’autre musicien
unnamed = ami

people = Contacts
people-none = Il n’y a encore personne
people-none-what = Faites connaissance une fois : l’un crée un lien et l’envoie, l’autre l’ouvre. Ensuite, un clic suffit pour appeler.
call = Appeler
invite = Inviter quelqu’un
join = J’ai un lien
settings = Réglages
rename = Renommer
remove = Retirer
save = Enregistrer
is-there = est là
is-away = n’est pas là
is-busy = est dans un autre appel
is-unknown = recherche en cours
last-call = dernier appel { $when }
remove-sure = Retirer { $name } ?
remove-what = { $name } ne pourra plus vous appeler, et un appel en cours se termine. Pour vous retrouver, il faudra un nouveau lien.
reasons = Ce qui s’est passé récemment

invite-title = Inviter quelqu’un
invite-what = Vous recevez un lien. Envoyez-le dans un message, par courriel ou messagerie ; l’autre musicien l’ouvre dans Duet.
invite-make = Créer le lien
invite-making = Recherche de la façon de joindre cet ordinateur
invite-send = Envoyez ce lien à { $name }
invite-keep = Il sert une fois, pendant dix minutes, tant que cette fenêtre est ouverte.
invite-qr = Ou montrez-le à une caméra
invite-answer = Si l’autre côté affiche une réponse, collez-la ici
invite-done = { $name } vous a rejoint. Désormais, un clic suffit.
call-now = Appeler { $name } maintenant

join-title = Rejoindre avec un lien
join-what = Collez le lien que l’autre musicien vous a envoyé.
join-link = Lien
join-do = Rejoindre
join-clipboard = Le presse-papiers contient un lien. L’utiliser ?
join-looking = Recherche de l’ordinateur qui a créé le lien
join-answer = Personne n’a encore répondu. Si cela dure, renvoyez cette ligne : elle va là où le lien a été créé.
join-done = Vous connaissez maintenant { $name }. Désormais, un clic suffit.
join-bad = Ce n’est pas un lien de Duet : il commence par « duet ».
failed = Cela n’a pas marché

ringing = { $name } vous appelle
ringing-what = Répondez, et vous vous verrez et vous entendrez.
take = Répondre
decline = Refuser

looking-for = Recherche de { $name }
looking-seconds = { $seconds ->
    [one] depuis { $seconds } seconde
   *[other] depuis { $seconds } secondes
}
looking-why = Si cela dure : Duet est-il ouvert là-bas, et cet ordinateur est-il connecté ?
hang-up = Raccrocher
mute = Couper le micro
unmute = Ouvrir le micro
hide-self = Sans moi
show-self = Me voir
hide-picture = Cacher mon image
show-picture = Montrer mon image
fullscreen = Plein écran
window = Fenêtre
snapshot = Photo
figures = Chiffres
effects = Effets
mirror = Miroir
more-quality = Plus net
less-quality = Plus rapide

start-title = Bienvenue dans Duet
start-what = Choisissez votre caméra et votre carte son. Vous pourrez en changer plus tard.
start-go = C’est bon
settings-title = Réglages
camera = Caméra
camera-none = Aucune caméra n’est branchée. Sans elle, l’autre vous entend mais ne voit rien.
camera-searching = Recherche de caméras
camera-pattern = Mire
preview = Aperçu
sound-card = Son
sound-none = Sans son
sound-auto = Choix de Duet
computer = Cet ordinateur
checking = Examen de cet ordinateur
check-again = Examiner encore
check-good = Bien
check-weak = Peut mieux faire
check-bad = À corriger

no-write = Impossible d’enregistrer : { $reason }
call-ended = L’appel avec { $name } est terminé.

why-missed = a appelé, et personne ici n’a répondu
why-not-taken = cela a sonné là-bas, et personne n’a répondu
why-not-found = est introuvable : Duet n’y est peut-être pas ouvert, ou cet ordinateur n’est pas connecté
why-no-network = cet ordinateur n’était pas connecté
why-busy = était dans un autre appel
why-declined = a refusé l’appel
why-do-not-disturb = ne voulait pas être dérangé
why-removed = ne connaît plus cet ordinateur : créez un nouveau lien
why-other-program = un autre programme ou une autre version tournait là-bas
why-large-packets = la ligne ne laisse pas passer les paquets d’un appel
call-kept = { $name } : { $reason }
rings-there = Cela sonne chez { $name }
told-busy = { $name } a appelé et sait que vous êtes dans un appel.
told-not-disturb = { $name } a appelé et sait que vous ne voulez pas être dérangé.

answer = Quand quelqu’un appelle
answer-rings = Cela sonne
answer-at-once = Répondre aussitôt
answer-disturb = Ne pas déranger
they-record = L’autre côté enregistre
they-hide = L’autre côté cache son image
say-something = Écrire à l’autre côté
send = Envoyer
texts = Messages
dht = Se retrouver même si une adresse change
dht-what = Duet laisse votre adresse, scellée, dans le réseau BitTorrent. Certaines écoles et entreprises interdisent ce réseau.
is-likely = semble être là
