// Knows whether a link lets in: its token says when it ends, and a relay that ends one session after the other at once lets nobody in.
const SHORT_MS = 1000;
const REFUSALS = 3;
// So long before its end the page goes by itself.
const EARLY_MS = 1000;

export class Pass {
  #ends_ms = Infinity;
  #began;
  #refusals = 0;

  constructor(token) {
    try {
      const { exp } = JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
      if (Number.isFinite(exp)) this.#ends_ms = exp * 1000 - EARLY_MS;
    } catch {
      // A token that cannot be read is the relay's to judge.
    }
  }

  // Takes each change of the connection.
  on(status, now) {
    if (status === "connected") this.#began = now;
    if (status !== "disconnected" || this.#began === undefined) return;
    this.#refusals = now - this.#began < SHORT_MS ? this.#refusals + 1 : 0;
    this.#began = undefined;
  }

  // `unix_ms`: the time of this machine's clock.
  isOver(unix_ms) {
    return unix_ms >= this.#ends_ms;
  }

  isRefused(now) {
    const lasts = this.#began !== undefined && now - this.#began >= SHORT_MS;
    return this.#refusals >= REFUSALS && !lasts;
  }
}
