// @vitest-environment jsdom
import { act, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, test, vi } from "vitest";

import { connection } from "~/live/connection";
import { startTexts } from "~/text/i18n";
import { Lost, LOST_SECONDS } from "./Lost";

beforeAll(startTexts);
afterEach(() => vi.useRealTimers());

const pass = (seconds: number) => act(() => vi.advanceTimersByTime(seconds * 1000));
const wait = (failures: number) => act(() => connection.set("changes", { phase: "waiting", failures }));

test("a page whose gateway stays away says how to go on, until it answers again", () => {
  vi.useFakeTimers();
  render(<Lost />);
  wait(1);
  pass(LOST_SECONDS - 1);
  act(() => connection.set("changes", { phase: "connecting", failures: 1 }));
  wait(2);
  expect(screen.getByRole("status").textContent).toBe("");
  pass(2);
  const said = `Agiraph does not answer at ${window.location.host}. Start it with \`agiraph up\`, or open the page at its current address with \`agiraph ui\`.`;
  expect(screen.getByRole("status").textContent?.trim()).toBe(said);
  act(() => connection.set("changes", { phase: "open", failures: 0 }));
  expect(screen.getByRole("status").textContent).toBe("");
});
