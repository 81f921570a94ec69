// trial RELAY SHOW WATCH PAGE OUT [PART..]: a real relay, a publisher that flashes and clicks, and a real browser on this machine; prints a
// line of JSON for each part: browser (join, picture, sound, flash against click), killed (the relay dies and comes back), foreign (a token
// for another name), all (the relay dies under 20 and 200 watchers), narrow (root; one on 0.3 Mbit/s beside ten), cost (1 to 200 watchers). OUT gets a screenshot and the logs. Needs node 20 or later and chromium.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { Browser, Place, percent, say, servePage, sleep } from "./stage.mjs";

const [relay, show, watch, page, out, ...asked] = process.argv.slice(2);
if (!out) {
  console.error("trial RELAY SHOW WATCH PAGE OUT [browser|killed|foreign|all|narrow|cost..]");
  process.exit(2);
}
const parts = asked.length ? asked : ["browser", "killed", "foreign", "all", "cost"];
const BASE = Number(process.env.PORT ?? 24430);
const [RELAY, TOKENS, PAGES, DEBUG, COUNTS] = [0, 1, 2, 3, 4].map((more) => BASE + more);
const place = new Place(out);
const start = (...of) => place.start(...of);
const end = (child) => place.end(child);

// A certificate as browsers take it by its hash.
// The relay reads its certificates anew whenever something changes in their folder, so that no log lies there.
mkdirSync(join(out, "tls"), { recursive: true });
const [pem, key, der] = ["relay.pem", "relay.key", "relay.der"].map((file) => join(out, "tls", file));
execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "13",
  "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
  "-keyout", key, "-out", pem], { stdio: "ignore" });
execFileSync("openssl", ["x509", "-in", pem, "-outform", "DER", "-out", der]);
const hash = createHash("sha256").update(readFileSync(der)).digest("hex");

// Tokens are words here.
const GRANTS = {
  host: { publish: ["duet/anna"], subscribe: ["duet/anna"], root: "" },
  guest: { publish: [], subscribe: ["duet/anna"], root: "" },
  foreign: { publish: ["duet/bert"], subscribe: ["duet/**"], root: "" },
};
createServer((request, answer) => {
  let body = "";
  request.on("data", (more) => (body += more));
  request.on("end", () => {
    const jwt = /jwt=([a-z.]+)/.exec(body)?.[1]?.split(".")[0];
    const grant = GRANTS[jwt];
    answer.writeHead(grant ? 200 : 403, { "content-type": "application/json" });
    answer.end(JSON.stringify(grant ?? {}));
  });
}).listen(TOKENS, "127.0.0.1");

servePage(PAGES, page, () => ({ relay: `https://localhost:${RELAY}/`, sha256: hash }));

const config = join(out, "relay.toml");
writeFileSync(config, `[listen]
bind = "[::]:${RELAY}"
tls.cert = ["${pem}"]
tls.key = ["${key}"]
[auth]
url = "http://127.0.0.1:${TOKENS}/"
[cache]
capacity = "64MiB"
duration = "2s"
[internal]
listen = "127.0.0.1:${COUNTS}"
`);
const startRelay = () => start("relay", relay, [config]);
const url = (token) => `https://localhost:${RELAY}/duet/anna?jwt=${token}.b.c`;
const startShow = (token, seconds = 900) => start("show", show, [`${url(token)}#sha256=${hash}`, String(seconds)]);

// Processor time of a process, seconds, and its memory, MB.
function cost(child) {
  const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1].split(" ");
  const pages = Number(readFileSync(`/proc/${child.pid}/statm`, "utf8").split(" ")[1]);
  return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, mb: pages * 4096 / 1e6 };
}

// In the page: looks at each picture and at the sound when they are given to screen and card, and returns the times of flashes and clicks,
// the pauses between pictures and the difference of two pictures on each player's half.
const WATCHED = (seconds) => `(async () => {
  const canvas = document.querySelector("canvas"), small = new OffscreenCanvas(64, 18);
  const to = small.getContext("2d", { willReadFrequently: true });
  const look = () => { to.drawImage(canvas, 0, 0, 64, 18); return to.getImageData(0, 0, 64, 18).data; };
  const root = duet.player.audio.out.root.peek(), ear = root?.context.createAnalyser();
  if (ear) { ear.fftSize = 2048; root.connect(ear); }
  const heard = new Float32Array(2048), flashes = [], clicks = [], levels = [];
  let wasWhite = true, wasLoud = true, first, last, moved = [0, 0], pauses = [];
  const listen = setInterval(() => {
    ear?.getFloatTimeDomainData(heard);
    const peak = heard.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0);
    levels.push(peak);
    // The newest sample is that of now.
    const at = heard.findIndex((sample) => Math.abs(sample) > 0.3);
    if (peak > 0.3 && !wasLoud) clicks.push(performance.now() - (2048 - at) / 48);
    wasLoud = peak > 0.1;
  }, 4);
  const see = () => {
    const now = performance.now(), data = look();
    if (last) pauses.push(now - last);
    last = now;
    const luma = [8, 56].map((x) => data[(9 * 64 + x) * 4 + 1]);
    const isWhite = luma[0] > 200;
    if (isWhite && !wasWhite) flashes.push(now);
    wasWhite = isWhite;
    if (!isWhite) {
      if (first) for (const half of [0, 1]) {
        let sum = 0;
        for (let y = 2; y < 16; y++) for (let x = 32 * half + 4; x < 32 * half + 28; x++)
          sum += Math.abs(data[(y * 64 + x) * 4 + 1] - first[(y * 64 + x) * 4 + 1]);
        moved[half] = Math.max(moved[half], sum / (14 * 24));
      }
      first ??= data.slice();
    }
  };
  const ends = duet.player.renderer.out.timestamp.subscribe(see);
  await new Promise((done) => setTimeout(done, ${seconds * 1000}));
  ends();
  clearInterval(listen);
  return { flashes, clicks, moved, peak: levels.reduce((a, b) => Math.max(a, b), 0), quiet: levels.reduce((a, b) => Math.min(a, b), 1),
    frames: duet.player.video.out.stats.peek()?.frameCount, behind: duet.behind(),
    pauses: pauses.toSorted((a, b) => a - b), card_ms: 1000 * (root?.context.outputLatency ?? 0), buffer_ms: duet.player.sync.out.buffer.peek() };
})()`;

try {
  let server = startRelay();
  if (parts.includes("foreign")) {
    // First: the relay shows a host that has gone for some seconds, and the name must be nobody's.
    const host = startShow("foreign");
    await sleep(8000);
    await end(host);
    const log = readFileSync(join(out, "show.log"), "utf8");
    say("foreign", { is_found_out: log.includes("is_unseen: true"), is_told: log.includes("shows it to nobody") });
  }
  let host = parts.some((part) => part !== "foreign") ? startShow("host") : undefined;
  await sleep(2500);
  if (parts.includes("browser") || parts.includes("killed")) {
    const browser = await Browser.open(place, DEBUG);
    await browser.tell("Page.navigate", { url: `http://localhost:${PAGES}/#duet/anna?jwt=guest.b.c` });
    const live = await browser.until(`window.duet?.player.broadcast.out.status.peek() === "live"`);
    await browser.run(`document.getElementById("start").click()`);
    const joined = await browser.until(`(duet.player.video.out.stats.peek()?.frameCount ?? 0) > 0`);
    await browser.until(`duet.level() > -60`, 5000);
    await sleep(3000);
    if (parts.includes("browser")) {
      const seconds = Number(process.env.SECONDS ?? 30);
      const before = await browser.run(`duet.player.video.out.stats.peek()?.frameCount`);
      const seen = await browser.run(WATCHED(seconds));
      await browser.shot(join(out, "page.png"));
      const apart = seen.flashes.map((flash) => seen.clicks.map((click) => click - flash).sort((a, b) => Math.abs(a) - Math.abs(b))[0])
        .filter((ms) => Math.abs(ms) < 500);
      const sizes = apart.map(Math.abs);
      say("browser", { live_ms: live, first_picture_ms: joined, fps: (seen.frames - before) / seconds, moved: seen.moved, peak: seen.peak,
        quiet: seen.quiet, pause_ms: { p99: percent(seen.pauses, 99), most: seen.pauses.at(-1) }, card_ms: seen.card_ms, buffer_ms: seen.buffer_ms,
        flashes: seen.flashes.length, clicks: seen.clicks.length, behind_s: seen.behind,
        click_after_flash_ms: { p50: percent(apart, 50), p95_of_size: percent(sizes, 95) } });
    }
    if (parts.includes("killed")) {
      await end(server);
      await sleep(1300);
      server = startRelay();
      const began = Date.now();
      const count = await browser.run(`duet.player.video.out.stats.peek()?.frameCount ?? 0`);
      await browser.until(`(duet.player.video.out.stats.peek()?.frameCount ?? 0) > ${count} ||
        (duet.player.video.out.stats.peek()?.frameCount ?? 0) < ${count} && (duet.player.video.out.stats.peek()?.frameCount ?? 0) > 2`);
      say("killed", { back_after_ms: Date.now() - began });
    }
    await end(browser.child);
  }
  if (parts.includes("all")) {
    // Everybody, and the publisher, loses the relay at once.
    for (const watchers of (process.env.WATCHERS ?? "20 200").split(" ")) {
      const child = start("watch", watch, [`${url("guest")}#sha256=${hash}`, watchers, "14", "sound", "base"]);
      let told = "";
      child.stdout.on("data", (more) => (told += more));
      const gone = new Promise((done) => child.on("exit", done));
      await sleep(Number(watchers) * 10 + 5000);
      await end(server);
      await sleep(1300);
      server = startRelay();
      await gone;
      const { pause_ms, frames } = JSON.parse(told);
      say("all", { watchers: Number(watchers), frames, back_after_ms: pause_ms[1] - 1300 });
    }
  }
  if (parts.includes("narrow")) {
    // One on a line of 0.3 Mbit/s, in a network namespace of its own, beside ten on good ones.
    const [space, near, far] = ["", "n", "f"].map((end) => `duet-au${end}${BASE}`);
    const ip = (...args) => execFileSync("ip", args, { stdio: "ignore" });
    const run = (...of) => place.told(...of);
    const others = () => run("others", watch, [`${url("guest")}#sha256=${hash}`, "10", "20", "main", "base", "sound"]);
    const alone = await others();
    ip("netns", "add", space);
    try {
      ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", space);
      ip("addr", "add", "10.77.3.1/30", "dev", near);
      ip("link", "set", near, "up");
      ip("-n", space, "addr", "add", "10.77.3.2/30", "dev", far);
      ip("-n", space, "link", "set", far, "up");
      execFileSync("tc", ["qdisc", "add", "dev", near, "root", "tbf", "rate", "300kbit", "burst", "4kb", "latency", "400ms"]);
      const there = `https://10.77.3.1:${RELAY}/duet/anna?jwt=guest.b.c#sha256=${hash}`;
      for (const tracks of [["base"], ["base", "sound"], ["main", "base", "sound"]]) {
        const inside = ["netns", "exec", space, watch, there, "1", "20", ...tracks];
        const [one, rest] = await Promise.all([run("narrow", "ip", inside), others()]);
        const short = ({ kbps_each, delay_ms, pause_ms, by_track }) => ({ kbps_each, delay_ms, pause_ms, by_track });
        say("narrow", { tracks, narrow: short(one), others_beside: short(rest), others_alone: short(alone) });
      }
    } finally {
      ip("netns", "del", space);
    }
  }
  if (parts.includes("cost")) {
    for (const watchers of (process.env.WATCHERS ?? "1 20 100 200").split(" ")) {
      const seconds = 10;
      const child = start("watch", watch, [`${url("guest")}#sha256=${hash}`, watchers, String(seconds)]);
      let told = "";
      child.stdout.on("data", (more) => (told += more));
      const gone = new Promise((done) => child.on("exit", done));
      await sleep(Number(watchers) * 10 + 2500);
      const before = [server, child, host].map(cost);
      await sleep(seconds * 1000 - 1500);
      const after = [server, child, host].map(cost);
      await gone;
      const share = after.map(({ cpu }, at) => +((cpu - before[at].cpu) / (seconds - 1.5) * 100).toFixed(1));
      say("cost", { ...JSON.parse(told), relay_percent: share[0], watchers_percent: share[1], publisher_percent: share[2], relay_mb: after[0].mb });
    }
  }
  if (host) await end(host);
  await end(server);
} finally {
  place.endAll();
}
process.exit(0);
