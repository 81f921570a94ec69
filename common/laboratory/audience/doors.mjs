// doors TOOLS SHOW WATCH PAGE OUT [PART..]: who may watch and who may publish, as docker/audience/start, its relay and its token server have
// it, with the programs themselves and without Docker; prints a line of JSON for each part: join (by a private link and by a public name),
// refused (wrong, expired, foreign and revoked tokens), revoked (somebody who is there; with the relay told, and by the half minute alone),
// expired, killed (relay and token server die and come back), cluster (two relays). TOOLS is a folder with moq-relay and moq; OUT gets logs.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Browser, Place, percent, say, servePage, sleep } from "./stage.mjs";

const [tools, show, watch, page, out, ...asked] = process.argv.slice(2);
if (!out) {
  console.error("doors TOOLS SHOW WATCH PAGE OUT [join|refused|revoked|expired|killed|cluster..]");
  process.exit(2);
}
const parts = asked.length ? asked : ["join", "refused", "revoked", "expired", "killed", "cluster"];
const BASE = Number(process.env.PORT ?? 24450);
const [PAGES, DEBUG] = [8, 9].map((more) => BASE + more);
const DELIVERED = resolve("docker/audience");
const place = new Place(out);
const now_s = () => Math.floor(Date.now() / 1000);

// A machine as `start` makes it: its own ports and folder on this one.
class Machine {
  constructor(name, port) {
    this.name = name;
    this.port = port;
    this.folder = join(out, name);
    rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(this.folder, { recursive: true });
    for (const file of ["start", "relay.toml"]) this.write(file, readFileSync(join(DELIVERED, file), "utf8"));
    execFileSync("chmod", ["+x", join(this.folder, "start")]);
  }

  write(file, text) {
    const ports = text.replaceAll(/\b44(43|40|80)\b/g, (_, end) => this.port + ["43", "40", "80"].indexOf(end));
    writeFileSync(join(this.folder, file), ports);
  }

  // Runs docker/audience/start, and returns what it prints.
  run(...args) {
    const env = { ...process.env, PATH: `${tools}:${process.env.PATH}`, DUET_HOST: "localhost" };
    return execFileSync(join(this.folder, "start"), args, { env, encoding: "utf8" });
  }

  // A link of `start`: both addresses, as programs take them, what the page's address ends with, and the key.
  link(name = "duet/anna", hours = 1) {
    const told = this.run("link", name, String(hours));
    const host = /--publish '([^']+)'/.exec(told)[1];
    const fragment = /For those who watch.*: https:\/\/[^/]+\/(#\S+)/.exec(told)[1];
    const key = /revoke (\S+)/.exec(told)[1];
    const token = /jwt=(\S+)/.exec(fragment)[1];
    return { host, fragment, key, token, guest: host.replace(/jwt=[^#]+/, `jwt=${token}`), name };
  }

  // A token of a link's key with another end.
  until(link, expires, ...role) {
    const key = join(this.folder, "state/keys", `${link.key}.jwk`);
    const role_of = role.length ? role : ["--subscribe", link.name];
    return execFileSync(join(tools, "moq"), ["auth", "sign", "--key", key, ...role_of, "--expires", String(expires)], { encoding: "utf8" }).trim();
  }

  // Starts the token server, with the command of its unit.
  serveTokens(...more) {
    const unit = readFileSync(join(DELIVERED, "duet-audience-tokens.service"), "utf8");
    const [, words] = /^ExecStart=moq (.*)$/m.exec(unit);
    const args = words.replace("/etc/duet-audience", join(this.folder, "state")).replace("4440", this.port + 1).split(" ");
    this.tokens = place.start(`${this.name}-tokens`, join(tools, "moq"), [...args, ...more]);
  }

  // Starts the relay, with paths as the units have them.
  serve(file = "relay.toml") {
    const text = readFileSync(join(this.folder, file), "utf8").replaceAll(/"\/(tls|cluster)\//g, `"${this.folder}/state/$1/`);
    writeFileSync(join(this.folder, "here.toml"), text);
    this.relay = place.start(`${this.name}-relay`, join(tools, "moq-relay"), [join(this.folder, "here.toml")]);
  }

  async end() {
    await Promise.all([this.relay, this.tokens].filter(Boolean).map((child) => place.end(child)));
  }
}

// A publisher; `says` resolves with the time at which it says something, or with nothing after a while.
function publish(url) {
  const child = place.start("show", show, [url, "900"], { NO_COLOR: "1" });
  let told = "";
  child.stderr.on("data", (more) => (told += more));
  const says = async (words, ms = 60_000) => {
    for (const end = Date.now() + ms; Date.now() < end; await sleep(5)) if (words.test(told)) return Date.now();
    return undefined;
  };
  return { child, says, told: () => told, forget: () => (told = "") };
}

const TAKEN = /has taken "/;
const FRAMES = `(duet.player.video.out.stats.peek()?.frameCount ?? 0)`;
const at = (fragment) => `http://localhost:${PAGES}/${fragment}`;
const sentence = `document.getElementById("notice").textContent`;
const altered = (token) => token.replace(/.(?=.$)/, (letter) => (letter === "A" ? "B" : "A"));

// Opens a page and starts the picture; returns the times to "live" and from the click to the first picture, ms.
async function join_by(fragment) {
  await tab();
  await browser.visit(at(fragment));
  const live_ms = await browser.until(`window.duet?.player.broadcast.out.status.peek() === "live"`);
  await browser.run(`document.getElementById("start").click()`);
  return { live_ms, picture_ms: await browser.until(`${FRAMES} > 0`) };
}

// Some browsers' tabs break down when a relay ends a session.
let browser;
let crashes = 0;
async function tab() {
  if (browser?.hasCrashed) {
    crashes += 1;
    await place.end(browser.child);
    browser = undefined;
  }
  browser ??= await Browser.open(place, DEBUG);
  return browser;
}

// Returns the time at which the page shows no picture any more, and the page's words for it.
async function away(ms = 60_000) {
  for (const until = Date.now() + ms; Date.now() < until; await sleep(20)) {
    const status = await browser.run(`duet.player.broadcast.out.status.peek()`).catch(() => undefined);
    if (status !== "live") return Date.now();
  }
  return undefined;
}
const words = () => browser.run(sentence).catch((error) => error.message);

const median = (values) => percent(values, 50);

try {
  const first = new Machine("first", BASE);
  let link = first.link();
  const relay_json = () => {
    const told = readFileSync(join(first.folder, "state/relay.json"), "utf8").replace("4443", BASE);
    return JSON.parse(told);
  };
  servePage(PAGES, page, relay_json);
  // As the README has it for a public evening.
  const PUBLIC = ["--public-subscribe", "duet/public/**"];
  first.serveTokens(...PUBLIC);
  first.serve();
  let host = publish(link.host);
  if (!(await host.says(TAKEN))) throw new Error(`the host is not taken: ${host.told()}`);

  if (parts.includes("join")) {
    const free = first.link("duet/public");
    const other = publish(free.host);
    await other.says(TAKEN);
    await sleep(2000);
    const [by_link, by_name] = [[], []];
    for (let turn = 0; turn < 7; turn++) {
      by_link.push(await join_by(link.fragment));
      by_name.push(await join_by("#duet/public"));
    }
    const open = free.host.replace(/\?jwt=[^#]+/, "");
    const programs = {};
    for (const [name, url] of [["by_link", link.guest], ["by_name", open]]) {
      programs[name] = (await place.told("watch", watch, [url, "20", "4", "base"])).first_ms;
    }
    const told = (of) => ({ live_ms: median(of.map((it) => it.live_ms)), picture_ms: median(of.map((it) => it.picture_ms)) });
    say("join", { browser: { by_link: told(by_link), by_name: told(by_name) }, program_first_ms_p50_p95: programs });
    await place.end(other.child);
  }

  if (parts.includes("refused")) {
    const foreign = first.link("duet/bert");
    const revoked = first.link();
    first.run("revoke", revoked.key);
    const past = first.until(link, now_s() - 5);
    const tokens = { wrong: altered(link.token), expired: past, foreign: foreign.token, revoked: revoked.token, none: undefined };
    for (const [kind, token] of Object.entries(tokens)) {
      const with_token = (url) => (token ? url.replace(/jwt=[^#]+/, `jwt=${token}`) : url.replace(/\?jwt=[^#]+/, ""));
      const program = await place.told("watch", watch, [with_token(link.guest), "1", "3", "base"]);
      await tab();
      await browser.visit(at(with_token(link.fragment)));
      await sleep(5000);
      say("refused", { who: "watcher", kind, frames: program.frames, refused: program.refused, page: await words() });
    }
    await place.end(host.child);
    const publishing = ["--publish", link.name, "--subscribe", link.name];
    const urls = {
      wrong: link.host.replace(/jwt=[^#]+/, (token) => altered(token)),
      expired: link.host.replace(/jwt=[^#]+/, `jwt=${first.until(link, now_s() - 5, ...publishing)}`),
      foreign: link.host.replace(/jwt=[^#]+/, `jwt=${/jwt=([^#]+)/.exec(foreign.host)[1]}`),
      revoked: revoked.host,
      watchers: link.guest,
      none: link.host.replace(/\?jwt=[^#]+/, ""),
    };
    for (const [kind, url] of Object.entries(urls)) {
      const one = publish(url);
      await sleep(6000);
      const words = one.told().split("\n").filter((line) => /WARN|show/.test(line)).map((line) => line.replace(/^\S*Z\s+/, ""));
      const seen = await place.told("watch", watch, [link.guest, "1", "2", "base"]);
      say("refused", { who: "publisher", kind, frames_seen: seen.frames, says: words.slice(0, 2), lines: words.length });
      await place.end(one.child);
    }
    host = publish(link.host);
    await host.says(TAKEN);
  }

  // How fast both are away once the host has taken a link back: told to the relay, and by the half minute alone.
  if (parts.includes("revoked")) {
    for (const [how, times] of [["start revoke", 3], ["half minute", 2]]) {
      const [watcher_ms, publisher_ms] = [[], []];
      for (let turn = 0; turn < times; turn++) {
        const own = first.link("duet/evening");
        const one = publish(own.host);
        await one.says(TAKEN);
        await join_by(own.fragment);
        await sleep(1000 + 3000 * turn);
        one.forget();
        const began = Date.now();
        if (how === "start revoke") first.run("revoke", own.key);
        else rmSync(join(first.folder, "state/keys", `${own.key}.jwk`));
        const gone = await Promise.all([away(), one.says(/has ended the session|does not take/)]);
        watcher_ms.push(gone[0] - began);
        publisher_ms.push(gone[1] - began);
        await sleep(4000);
        const page = await words();
        if (turn === 0) say("revoked", { how, page, publisher: one.told().split("\n").slice(0, 2).map((line) => line.replace(/^\S*Z\s+/, "")) });
        await place.end(one.child);
      }
      say("revoked", { how, watcher_ms, publisher_ms });
    }
  }

  if (parts.includes("expired")) {
    const [watcher_ms, publisher_ms] = [[], []];
    for (let turn = 0; turn < 3; turn++) {
      const own = first.link("duet/evening");
      const ends = now_s() + 8;
      const token = first.until(own, ends, "--publish", own.name, "--subscribe", own.name);
      const one = publish(own.host.replace(/jwt=[^#]+/, `jwt=${token}`));
      await one.says(TAKEN);
      await join_by(own.fragment.replace(/jwt=\S+/, `jwt=${first.until(own, ends)}`));
      one.forget();
      const gone = await Promise.all([away(), one.says(/has ended the session|does not take/)]);
      watcher_ms.push(gone[0] - ends * 1000);
      publisher_ms.push(gone[1] - ends * 1000);
      await sleep(3000);
      if (turn === 0) {
        const says = one.told().split("\n").slice(0, 2).map((line) => line.replace(/^\S*Z\s+/, ""));
        say("expired", { page: await words(), publisher: says });
      }
      await place.end(one.child);
    }
    say("expired", { watcher_ms, publisher_ms });
  }

  if (parts.includes("killed")) {
    const back_ms = [];
    for (let turn = 0; turn < 3; turn++) {
      await join_by(link.fragment);
      await sleep(2000);
      await first.end();
      await sleep(1300);
      first.serveTokens(...PUBLIC);
      first.serve();
      const began = Date.now();
      const count = await browser.run(FRAMES);
      await browser.until(`${FRAMES} !== ${count} && ${FRAMES} > 2 && duet.player.broadcast.out.status.peek() === "live"`);
      back_ms.push(Date.now() - began);
    }
    say("killed", { back_ms });
  }

  if (parts.includes("cluster")) {
    first.run("cluster");
    const second = new Machine("second", BASE + 10);
    second.run("link", "duet/other");
    for (const folder of ["keys", "cluster"]) execFileSync("cp", ["-r", join(first.folder, "state", folder), join(second.folder, "state")]);
    const port = (text) => text.replace(`bind = "[::]:${first.port}"`, `bind = "[::]:${second.port}"`)
      .replace(`listen = "[::]:${first.port}"`, `listen = "[::]:${second.port}"`)
      .replaceAll(`127.0.0.1:${first.port + 1}`, `127.0.0.1:${second.port + 1}`).replaceAll(`127.0.0.1:${first.port + 2}`, `127.0.0.1:${second.port + 2}`);
    writeFileSync(join(second.folder, "second.toml"), port(readFileSync(join(second.folder, "state/cluster/relay.toml"), "utf8")));
    second.serveTokens();
    second.serve("second.toml");
    const pin = /sha256": "(\w+)/.exec(readFileSync(join(second.folder, "state/relay.json"), "utf8"))[1];
    const there = (url) => url.replace(`localhost:${first.port}`, `localhost:${second.port}`).replace(/sha256=\w+/, `sha256=${pin}`);
    await sleep(2000);
    for (const where of ["first", "second"]) {
      if (where === "second") {
        await place.end(host.child);
        await sleep(1000);
        host = publish(there(link.host));
        await host.says(TAKEN);
        await sleep(2000);
      }
      const watched = (url) => place.told("watch", watch, [url, "5", "10", "main", "base", "sound"]);
      const [near, far] = await Promise.all([watched(link.guest), watched(there(link.guest))]);
      const short = ({ delay_ms, first_ms, frames, pause_ms }) => ({ delay_ms, first_ms, frames, pause_ms });
      say("cluster", { publisher_at: where, watched_at_first: short(near), watched_at_second: short(far) });
    }
    await second.end();
  }
  say("all", { tabs_crashed: crashes + (browser?.hasCrashed ? 1 : 0) });
} finally {
  place.endAll();
}
process.exit(0);
