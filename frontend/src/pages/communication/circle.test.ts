import { expect, test } from "vitest";

import type { Traffic } from "~/api/traffic";
import { pictureOf } from "./circle";

const line = (from: string, to: string, count: number): Traffic => ({
  from,
  to,
  count,
  last_seq: count,
  last_at: count,
  last_text: "x",
});

test("the coordinator is in the middle, each direction is an arrow of its own", () => {
  const { places, arrows, width, height } = pictureOf([
    line("coordinator", "ada", 4),
    line("ada", "coordinator", 1),
    line("bob", "ada", 2),
  ]);
  expect(places.find((place) => place.name === "coordinator")).toMatchObject({
    x: width / 2,
    y: height / 2,
    wrote: 4,
    got: 1,
  });
  expect(arrows.map(({ key, weight }) => [key, weight])).toEqual([
    ["coordinator → ada", 1],
    ["ada → coordinator", 0.25],
    ["bob → ada", 0.5],
  ]);
  const [there, back] = arrows;
  expect(there?.at).not.toEqual(back?.at);
  for (const { x, y } of places) expect(x > 0 && y > 0 && x < width && y < height).toBe(true);
});

test("nobody is no picture, two stand opposite each other", () => {
  expect(pictureOf([]).places).toEqual([]);
  const { places } = pictureOf([line("coordinator", "ada", 1)]);
  expect(new Set(places.map(({ y }) => y)).size).toBe(2);
});
