// Notices by itself that nothing comes any more, and dials anew: a browser holds on to a session for many seconds after its relay has died.
const SILENT_MS = 1000;
const PATIENCE = 1.5;
const MOST_MS = 10_000;
// So long something has to come again before the next silence is found as early as the first.
const STEADY_MS = 5000;

export class Line {
  #came;
  #moved;
  #looked;
  #began;
  #patience = SILENT_MS;

  // `came`: what has come, of which each change counts; `expects`: whether something has to come. Returns true if it is time to dial anew.
  look({ came, expects }, now) {
    const has_slept = this.#looked === undefined || now - this.#looked > SILENT_MS;
    this.#looked = now;
    if (came !== this.#came) {
      if (this.#began === undefined || now - this.#moved >= SILENT_MS) this.#began = now;
      this.#came = came;
      this.#moved = now;
      if (now - this.#began > STEADY_MS) this.#patience = SILENT_MS;
    }
    if (!expects || has_slept) this.#moved = now;
    if (now - this.#moved < this.#patience) return false;
    // A line on which a greeting takes longer has its time, too.
    this.#patience = Math.min(this.#patience * PATIENCE, MOST_MS);
    this.#moved = now;
    this.#began = undefined;
    return true;
  }
}
