// Picks the picture that the line bears: the large one, and the small one after it has stood still; the large one is tried again after a
// time that doubles.
const STANDS_MS = 1500;
const AGAIN_MS = [10_000, 160_000];

export class Quality {
  #player;
  #frames = 0;
  #moved = performance.now();
  #small = false;
  #since = performance.now();
  #again = AGAIN_MS[0];

  constructor(player) {
    this.#player = player;
  }

  look(now = performance.now()) {
    const frames = this.#player.video.out.stats.peek()?.frameCount ?? 0;
    const isOn = this.#player.broadcast.out.status.peek() === "live" && !this.#player.paused;
    if (frames !== this.#frames || !isOn) {
      this.#frames = frames;
      this.#moved = now;
    }
    if (!this.#small && now - this.#moved > STANDS_MS) {
      this.#set(true, now);
    } else if (this.#small && now - this.#since > this.#again) {
      this.#again = Math.min(2 * this.#again, AGAIN_MS[1]);
      this.#set(false, now);
    }
  }

  #set(small, now) {
    [this.#small, this.#since, this.#moved] = [small, now, now];
    this.#player.controls.target.set(small ? { name: "base" } : undefined);
  }

  words() {
    return this.#small ? ", small picture: the line bears no more" : "";
  }
}
