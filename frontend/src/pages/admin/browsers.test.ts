import { expect, test } from "vitest";

import { browserName } from "./browsers";

test("a browser is named with its version and its system", () => {
  const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";
  const safari = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15";
  expect(browserName(chrome)).toBe("Chrome 156, Linux");
  expect(browserName(`${chrome} Edg/156.0.0.0`)).toBe("Edge 156, Linux");
  expect(browserName(safari)).toBe("Safari 18, macOS");
  expect(browserName("curl/8.5")).toBe("curl/8.5");
});
