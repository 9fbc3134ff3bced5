// How the page is built, served while one works on it, and tested.
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const gateway = process.env["AGIRAPH_URL"] ?? "http://127.0.0.1:8000";

export default defineConfig({
  base: "/ui/",
  plugins: [react({ jsxImportSource: "~/ui/visible" })],
  resolve: { alias: { "~": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // a data: address is no source of scripts or fonts under our policy
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000, // elkjs, in a chunk of its own
  },
  server: {
    // The gateway takes what changes something from its own origin alone.
    proxy: {
      "^/(?!ui/)": {
        target: gateway,
        changeOrigin: true,
        ws: true,
        headers: { origin: gateway },
      },
    },
  },
  test: {
    environment: "node", // what needs a document says so: `@vitest-environment jsdom`
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/testing.ts"],
    css: false,
    restoreMocks: true,
    testTimeout: 30_000, // a busy machine
    pool: "threads",
    maxWorkers: 1, // with its modules and its one document for all: they cost more than the tests
    isolate: false,
  },
});
