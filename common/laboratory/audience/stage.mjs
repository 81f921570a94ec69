// Processes, the page and a browser on this machine, for who measures an audience.
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
export const say = (part, told) => console.log(JSON.stringify({ part, ...told }));
export const percent = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share / 100))];

// A folder with logs, and the processes that were started.
export class Place {
  #children = new Set();

  constructor(folder) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  start(name, program, args, env = {}) {
    const log = createWriteStream(join(this.folder, `${name}.log`), { flags: "a" });
    const child = spawn(program, args, { env: { ...process.env, ...env } });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    this.#children.add(child);
    child.on("exit", () => this.#children.delete(child));
    return child;
  }

  // Runs a program that tells one JSON object, and returns it.
  async told(name, program, args) {
    const child = this.start(name, program, args);
    let told = "";
    child.stdout.on("data", (more) => (told += more));
    await new Promise((done) => child.on("exit", done));
    return JSON.parse(told);
  }

  async end(child) {
    if (child.exitCode !== null || child.signalCode) return;
    const gone = new Promise((done) => child.on("exit", done));
    child.kill("SIGKILL");
    await gone;
  }

  endAll() {
    for (const child of this.#children) child.kill("SIGKILL");
  }
}

const CRASHED = "the page has crashed";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };

// Serves the page of a folder; `relay`: what it is told of the relay.
export function servePage(port, folder, relay) {
  createServer((request, answer) => {
    const path = new URL(request.url, "http://x").pathname;
    const file = path === "/" ? "index.html" : path.slice(1).replaceAll("..", "");
    try {
      const body = file === "relay.json" ? JSON.stringify(relay()) : readFileSync(join(folder, file));
      answer.writeHead(200, { "content-type": TYPES[extname(file)] ?? "text/plain", "cross-origin-opener-policy": "same-origin",
        "cross-origin-embedder-policy": "require-corp" });
      answer.end(body);
    } catch {
      answer.writeHead(404).end();
    }
  }).listen(port, "127.0.0.1");
}

export class Browser {
  #socket;
  #next = 0;
  #waiting = new Map();

  static async open(place, port) {
    const browser = new Browser();
    browser.child = place.start("chromium", process.env.CHROMIUM ?? "chromium", ["--headless=new", "--no-sandbox", "--disable-gpu",
      "--autoplay-policy=no-user-gesture-required", `--remote-debugging-port=${port}`, `--user-data-dir=${join(place.folder, "profile")}`,
      "--window-size=1280,620", "about:blank"]);
    for (let tries = 0; ; tries++) {
      try {
        const pages = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
        const target = pages.find((it) => it.type === "page");
        browser.#socket = new WebSocket(target.webSocketDebuggerUrl);
        await new Promise((done, failed) => ([browser.#socket.onopen, browser.#socket.onerror] = [done, failed]));
        break;
      } catch (error) {
        if (tries > 200) throw error;
        await sleep(100);
      }
    }
    browser.#socket.onmessage = ({ data }) => {
      const { id, result, error, method } = JSON.parse(data);
      browser.#waiting.get(id)?.(result ?? { error });
      browser.#waiting.delete(id);
      if (method !== "Inspector.targetCrashed") return;
      // Whoever waits for a page that has crashed waits for ever.
      browser.hasCrashed = true;
      for (const done of browser.#waiting.values()) done({ error: CRASHED });
      browser.#waiting.clear();
    };
    await browser.tell("Inspector.enable");
    return browser;
  }

  async tell(method, params = {}) {
    if (this.hasCrashed) return { error: CRASHED };
    const id = ++this.#next;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((done) => this.#waiting.set(id, done));
  }

  async run(expression) {
    const { result, exceptionDetails, error } =
      await this.tell("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails ?? error) throw new Error(JSON.stringify(exceptionDetails ?? error));
    return result.value;
  }

  async until(expression, ms = 30_000) {
    const began = Date.now();
    while (!(await this.run(expression))) {
      if (Date.now() - began > ms) return undefined;
      await sleep(20);
    }
    return Date.now() - began;
  }

  // Opens a page as if it had never been open before.
  async visit(url) {
    await this.tell("Page.navigate", { url: "about:blank" });
    await this.until(`location.href === "about:blank"`);
    await this.tell("Page.navigate", { url });
  }

  async shot(file) {
    const { data } = await this.tell("Page.captureScreenshot");
    writeFileSync(file, Buffer.from(data, "base64"));
  }
}
