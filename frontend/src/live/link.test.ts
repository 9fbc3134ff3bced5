import { expect, test } from "vitest";

import { type Link, type LinkInput, LONGEST_SECONDS, OFF, step, waitSeconds } from "./link";

const after = (...inputs: LinkInput[]): Link =>
  inputs.reduce<Link>((link, input) => step(link, input)[0], OFF);
const broken = (code = 1006, openForSeconds = 0): LinkInput => ({
  is: "closed",
  code,
  openForSeconds,
  random: 1,
});

test("a link that breaks asks whether the login is still valid, and waits longer each time", () => {
  let link = after({ is: "start" });
  const waits: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    const [waiting, effects] = step(link, broken());
    expect(effects[0]).toEqual({ do: "probe" });
    const wait = effects[1];
    if (wait?.do === "wait") waits.push(wait.seconds);
    const [again, begun] = step(waiting, { is: "due" });
    expect(begun).toEqual([{ do: "connect" }]);
    link = again;
  }
  expect(waits).toEqual(waits.toSorted((one, other) => one - other));
  expect(waits.at(-1)).toBe(LONGEST_SECONDS);
});

test("the waits of several pages differ", () => {
  expect(waitSeconds(3, 0)).toBeLessThan(waitSeconds(3, 1));
  expect(waitSeconds(3, 0)).toBeGreaterThan(0);
});

test("a link that was open for long begins with the shortest wait again", () => {
  const often = after({ is: "start" }, broken(), { is: "due" }, broken(), { is: "due" }, { is: "opened" });
  expect(often).toEqual({ phase: "open", failures: 2 });
  expect(step(often, broken(1012, 60))[0]).toEqual({ phase: "waiting", failures: 1 });
  expect(step(often, broken(1012, 0.1))[0]).toEqual({ phase: "waiting", failures: 3 });
});

test("who looks at the page again does not wait", () => {
  const waiting = after({ is: "start" }, broken());
  expect(step(waiting, { is: "seen" })).toEqual([
    { phase: "connecting", failures: 0 },
    [{ do: "connect" }],
  ]);
});

test("without a network nothing is tried until it is back", () => {
  const offline = after({ is: "start" }, { is: "opened" }, { is: "offline" });
  expect(offline.phase).toBe("offline");
  expect(step(offline, { is: "due" })[1]).toEqual([]);
  expect(step(offline, { is: "online" })[1]).toEqual([{ do: "connect" }]);
});

test("after a sleep an open link is not trusted", () => {
  const open = after({ is: "start" }, { is: "opened" });
  expect(step(open, { is: "slept" })[1]).toEqual([{ do: "disconnect" }, { do: "connect" }]);
});

test("a login that has ended, and an agent that was archived, are not tried again", () => {
  const refused = after({ is: "start" }, broken(), { is: "refused" });
  expect(refused.phase).toBe("refused");
  expect(step(refused, { is: "online" })[1]).toEqual([]);
  const ended = after({ is: "start" }, { is: "opened" }, broken(1000));
  expect(ended.phase).toBe("ended");
  expect(step(ended, { is: "seen" })[1]).toEqual([]);
});

test("a stopped link stays where it is until it is started", () => {
  expect(after({ is: "start" }, { is: "opened" }, { is: "stop" }, { is: "online" })).toBe(OFF);
});
