# Palabras de la sala.
app = Duet
back = Atrás
cancel = Cancelar
close = Cerrar
done = Listo
copy = Copiar
name-of-other = Nombre del otro músico
unnamed = amigo

people = Personas
people-none = Todavía no hay nadie
people-none-what = Conoceos una vez: uno crea un enlace y lo envía, el otro lo abre. Desde entonces basta un clic para llamar.
call = Llamar
invite = Invitar a alguien
join = Tengo un enlace
settings = Ajustes
rename = Cambiar nombre
remove = Quitar
save = Guardar
is-there = está
is-away = no está
is-busy = está en otra llamada
is-unknown = buscando
last-call = última llamada { $when }
remove-sure = ¿Quitar a { $name }?
remove-what = { $name } ya no podrá llamarte, y una llamada en curso termina. Para volver a veros hará falta otro enlace.
reasons = Lo que pasó hace poco

invite-title = Invitar a alguien
invite-what = Recibes un enlace. Envíalo en cualquier mensaje, por correo o chat; el otro músico lo abre en Duet.
invite-make = Crear el enlace
invite-making = Buscando cómo llegar a este ordenador
invite-send = Envía este enlace a { $name }
invite-keep = Sirve una vez, durante diez minutos, mientras esta ventana esté abierta.
invite-qr = O muéstraselo a una cámara
invite-answer = Si el otro lado muestra una respuesta, pégala aquí
invite-done = { $name } se ha unido. Desde ahora basta un clic.
call-now = Llamar a { $name } ahora

join-title = Unirse con un enlace
join-what = Pega el enlace que te ha enviado el otro músico.
join-link = Enlace
join-do = Unirse
join-clipboard = Hay un enlace en el portapapeles. ¿Unirse con él?
join-looking = Buscando el ordenador que creó el enlace
join-answer = Nadie ha respondido aún. Si sigue así, devuelve esta línea: va adonde se creó el enlace.
join-done = Ya conoces a { $name }. Desde ahora basta un clic.
join-bad = Esto no es un enlace de Duet: empieza por «duet».
failed = No ha funcionado

ringing = { $name } te llama
ringing-what = Acepta, y os veréis y oiréis.
take = Aceptar
decline = Rechazar

looking-for = Buscando a { $name }
looking-seconds = { $seconds ->
    [one] desde hace { $seconds } segundo
   *[other] desde hace { $seconds } segundos
}
looking-why = Si sigue así: ¿está Duet abierto allí, y ese ordenador conectado?
hang-up = Colgar
mute = Apagar micrófono
unmute = Encender micrófono
hide-self = Sin mí
show-self = Verme
hide-picture = Ocultar mi imagen
show-picture = Mostrar mi imagen
fullscreen = Pantalla completa
window = Ventana
snapshot = Foto
figures = Cifras
effects = Efectos
mirror = Espejo
more-quality = Más nítido
less-quality = Más rápido

start-title = Bienvenido a Duet
start-what = Elige tu cámara y tu tarjeta de sonido. Podrás cambiarlas después.
start-go = De acuerdo
settings-title = Ajustes
camera = Cámara
camera-none = No hay ninguna cámara conectada. Sin ella el otro lado te oye, pero no ve nada.
camera-searching = Buscando cámaras
camera-pattern = Imagen de prueba
preview = Vista previa
sound-card = Sonido
sound-none = Sin sonido
sound-auto = Elige Duet
computer = Este ordenador
checking = Revisando este ordenador
check-again = Revisar de nuevo
check-good = Bien
check-weak = Podría mejorar
check-bad = Hay que arreglarlo

no-write = No se pudo guardar: { $reason }
call-ended = La llamada con { $name } ha terminado.

why-missed = llamó, y aquí nadie respondió
why-not-taken = sonó allí, y nadie respondió
why-not-found = no se encontró: quizá Duet no esté abierto allí, o ese ordenador no tenga red
why-no-network = este ordenador no tenía red
why-busy = estaba en otra llamada
why-declined = rechazó la llamada
why-do-not-disturb = no quería que le molestaran
why-removed = ya no conoce este ordenador: cread otro enlace
why-other-program = allí corría otro programa u otra versión
why-large-packets = la línea no deja pasar paquetes del tamaño de una llamada
call-kept = { $name }: { $reason }
rings-there = Suena en casa de { $name }
told-busy = { $name } ha llamado y sabe que estás en una llamada.
told-not-disturb = { $name } ha llamado y sabe que no quieres que te molesten.

answer = Cuando alguien llama
answer-rings = Suena
answer-at-once = Aceptar en seguida
answer-disturb = No molestar
they-record = El otro lado graba
they-hide = El otro lado oculta su imagen
say-something = Escribe al otro lado
send = Enviar
texts = Mensajes
dht = Encontrarse aunque cambie una dirección
dht-what = Duet deja tu dirección, sellada, en la red de BitTorrent. Algunas escuelas y empresas prohíben esa red.
is-likely = parece que está
