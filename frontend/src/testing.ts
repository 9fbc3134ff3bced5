// What every test of the page has: one with a document, its document cleared.
import { afterEach } from "vitest";

if (typeof document !== "undefined") {
  const { cleanup, configure } = await import("@testing-library/react");
  configure({ asyncUtilTimeout: 10_000 }); // a busy machine
  afterEach(cleanup);
}
