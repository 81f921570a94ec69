import assert from "node:assert/strict";
import { test } from "node:test";
import { Pass } from "./pass.js";

const token = (claims) => `e30.${btoa(JSON.stringify(claims)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}.c2ln`;

test("a link is over a second before its token ends, and one that cannot be read is the relay's matter", () => {
  const pass = new Pass(token({ subscribe: ["duet/anna"], exp: 1000 }));
  assert.deepEqual([998_999, 999_000].map((now) => pass.isOver(now)), [false, true]);
  for (const other of [null, "", "a", "a.b.c", token({}), token({ exp: "soon" }), token({ exp: null })]) {
    assert.equal(new Pass(other).isOver(Number.MAX_SAFE_INTEGER), false, other);
  }
});

test("a relay that ends three sessions at once refuses, and one that is dead or lasts does not", () => {
  const after = (...lengths) => {
    const pass = new Pass(null);
    let now = 0;
    for (const length of lengths) {
      if (length !== undefined) pass.on("connected", now);
      pass.on("disconnected", (now += length ?? 50));
      pass.on("connecting", (now += 100));
    }
    return [pass, now];
  };
  const isRefused = (...lengths) => (([pass, now]) => pass.isRefused(now))(after(...lengths));
  assert.equal(isRefused(10, 10), false);
  assert.equal(isRefused(10, 10, 10), true);
  assert.equal(isRefused(10, 10, 5000), false);
  assert.equal(isRefused(undefined, undefined, undefined, undefined), false);
  const [pass, now] = after(10, 10, 10);
  pass.on("connected", now);
  assert.deepEqual([now + 500, now + 1500].map((at) => pass.isRefused(at)), [true, false]);
});
