import { expect, test } from "vitest";

import { secondsOf } from "./durations";

test("a duration is a number and a unit", () => {
  expect(["90s", "30m", "12h", "1.5d", "2 W", "0s"].map(secondsOf)).toEqual([90, 1800, 43200, 129600, 1209600, 0]);
  expect(["", "30", "d", "-1d", "1x", "1d 2h"].map(secondsOf)).toEqual([null, null, null, null, null, null]);
});
