// The audience's page: the relay's own player, and words around it. It is at PAGE#NAME?jwt=TOKEN: what stands behind # is seen by the
// browser and the relay, and not by whoever serves this page.
import "@moq/watch/element";
import { Line } from "./line.js";
import { Pass } from "./pass.js";
import { Quality } from "./quality.js";

const at = (id) => document.getElementById(id);
const player = at("player");
// The words that the host has given, of the newest catalogue.
let programme;
let context;
let analyser;

const [name, query] = decodeURIComponent(location.hash.slice(1)).split("?");
const { relay, sha256 } = await fetch("relay.json", { cache: "no-store" }).then((answer) => answer.json());
const url = new URL(relay.replace("{host}", location.hostname));
const token = new URLSearchParams(query).get("jwt");
if (token) url.searchParams.set("jwt", token);
const pass = new Pass(token);

function say(words, mayStart) {
  at("notice").textContent = words;
  at("cover").hidden = !words;
  at("start").hidden = !mayStart;
}

function describe(catalogue) {
  programme = catalogue?.duet ?? programme;
  const { title, names } = programme ?? {};
  at("title").textContent = title || name || "Duet";
  document.title = title || "Duet";
  at("names").textContent = (names ?? []).join(" · ");
}

// Words for where there is no picture.
function notice() {
  const status = player.broadcast.out.status.peek();
  if (!name) return say("This link lacks a name: ask the players for another one.", false);
  if (pass.isOver(Date.now())) return say("This link has ended: ask the players for another one.", false);
  if (pass.isRefused(performance.now())) {
    return say("The relay does not let this link in: it was taken back, or is not whole. Ask the players for another one.", false);
  }
  if (programme?.over) return say("It is over. Thank you for listening.", false);
  if (status === "live") return say(player.paused ? "They play." : "", player.paused);
  if (programme?.starts) return say(`It starts at ${programme.starts}.`, false);
  say(status === "loading" ? "One moment …" : "Nobody plays here yet. This page begins by itself.", false);
}

// Seconds between what is shown and the players, by this machine's clock and the host's.
function behind() {
  const shown = player.sync.out.timestamp.peek();
  if (shown === undefined || !programme?.zero_unix_ms) return undefined;
  return (Date.now() - programme.zero_unix_ms - shown) / 1000;
}

// Peak of the sound that is played, decibels of full scale.
function level() {
  const root = player.audio.out.root.peek();
  if (!root) return -Infinity;
  if (root.context !== context) {
    context = root.context;
    analyser = context.createAnalyser();
    analyser.fftSize = 2048;
    root.connect(analyser);
  }
  const samples = new Float32Array(analyser.fftSize);
  analyser.getFloatTimeDomainData(samples);
  return 20 * Math.log10(samples.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0));
}

function setSound(on) {
  player.muted = !on;
  at("sound").textContent = on ? "Sound off" : "Sound on";
  at("sound").setAttribute("aria-pressed", String(!on));
}

at("start").addEventListener("click", () => {
  player.paused = false;
  setSound(true);
  notice();
});
at("sound").addEventListener("click", () => setSound(player.muted));
at("full").addEventListener("click", () => at("stage").requestFullscreen());

player.paused = true;
player.reload = true;
// A relay that was started anew is back at once, and one that stays away is asked for as long as the page is open.
player.connection.delay = { initial: 100, multiplier: 1.5, max: 1000, timeout: 0 };
// Of a certificate that is the relay's own.
if (sha256) player.connection.webtransport = { serverCertificateHashes: [{ value: sha256 }] };
player.connection.status.subscribe((status) => {
  pass.on(status, performance.now());
  // Who is not let in asks ever more rarely.
  player.connection.delay.max = pass.isRefused(performance.now()) ? 30_000 : 1000;
});
if (name && !pass.isOver(Date.now())) {
  player.url = url;
  player.name = name;
}
const quality = new Quality(player);
const line = new Line();

// Everything that has come, and whether something has to.
function heard() {
  const { status } = player.connection;
  const bytes = [player.video, player.audio].map((of) => of.out.stats.peek()?.bytesReceived ?? 0);
  const catalogue = player.broadcast.out.catalog.peek();
  const isLive = player.broadcast.out.status.peek() === "live" && !player.paused;
  const plays = isLive && (catalogue?.video || (catalogue?.audio && !player.muted));
  return {
    came: `${status.peek()} ${bytes}`,
    expects: !document.hidden && !pass.isRefused(performance.now()) && (status.peek() === "connecting" || Boolean(plays)),
  };
}

function dialAnew() {
  player.connection.url.set(undefined);
  setTimeout(() => player.connection.url.set(url));
}

player.broadcast.out.catalog.subscribe(describe);
player.broadcast.out.status.subscribe(notice);
setInterval(() => {
  notice();
  const late = behind();
  const isLive = player.broadcast.out.status.peek() === "live" && !player.paused;
  // Clocks that are not set say nothing.
  const words = late > 0 && late < 30 ? `Live, ${late.toFixed(1)} s behind` : "Live";
  at("live").textContent = isLive ? words + quality.words() : "";
  at("level").value = Math.max(-60, level());
  quality.look();
  if (pass.isOver(Date.now())) player.connection.url.set(undefined);
  else if (line.look(heard(), performance.now())) dialAnew();
}, 250);
// For who measures.
window.duet = { player, behind, level, quality };
