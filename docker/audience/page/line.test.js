import assert from "node:assert/strict";
import { test } from "node:test";
import { Line } from "./line.js";

// Looks four times a second, as the page does, for so long; returns the times at which it dials anew.
function looks(line, from, ms, state) {
  const times = [];
  for (let now = from; now < from + ms; now += 250) if (line.look(state(now), now)) times.push(now - from);
  return times;
}

test("a line on which nothing comes is dialled anew after a second, and ever more rarely", () => {
  const line = new Line();
  assert.deepEqual(looks(line, 0, 60_000, (now) => ({ came: now, expects: true })), []);
  const times = looks(line, 60_000, 60_000, () => ({ came: 1, expects: true }));
  assert.ok(times[0] <= 1250 && times.length > 5 && times.length < 12, `${times}`);
  assert.ok(times.at(-1) - times.at(-2) >= 10_000, `${times}`);
  // Something comes for a while, and the next silence is found as early.
  assert.deepEqual(looks(line, 120_000, 10_000, (now) => ({ came: now, expects: true })), []);
  assert.ok(looks(line, 130_000, 5_000, () => ({ came: 2, expects: true }))[0] <= 1250);
});

test("a narrow line on which little comes now and then is not dialled each time", () => {
  const times = looks(new Line(), 0, 60_000, (now) => ({ came: Math.floor(now / 3000), expects: true }));
  assert.ok(times.length <= 4, `${times}`);
});

test("nothing is dialled where nothing has to come, or after a sleep", () => {
  assert.deepEqual(looks(new Line(), 0, 60_000, () => ({ came: 1, expects: false })), []);
  const line = new Line();
  line.look({ came: 1, expects: true }, 0);
  assert.equal(line.look({ came: 1, expects: true }, 900_000), false);
  assert.equal(line.look({ came: 1, expects: true }, 900_250), false);
});
