// @vitest-environment jsdom
import { fireEvent, render, screen } from "@testing-library/react";
import { beforeAll, expect, test, vi } from "vitest";

import { wantedLanguage, startTexts } from "~/text/i18n";
import { diffLines } from "./diff";
import * as format from "./format";
import { Icon } from "./Icon";
import { matches, parseKey } from "./keyNames";
import { Keys, useKey } from "./keys";
import { safeAddress } from "./links";
import MarkdownView from "./MarkdownView";
import { Dialog } from "./overlays";
import { nextPage, paths } from "./paths";
import { titleOf } from "./title";
import { StatusSign, Unread } from "./values";
import { isStillAtEnd } from "./VirtualList";

beforeAll(startTexts);

test("money, tokens, sizes and lengths of time are as the command line prints them", () => {
  expect([0, 0.1234567, 1234.5, null].map(format.formatMoney)).toEqual(["$0.00", "$0.1235", "$1,234.50", ""]);
  expect([0.004, 0.5].map(format.formatShortMoney)).toEqual(["$0.0040", "$0.50"]);
  expect([812, 12_345, 345_678, 4_500_000].map(format.formatShortCount)).toEqual(["812", "12.3k", "346k", "4.5M"]);
  expect([7, 950, 1500, 2.5e6, 3e9].map(format.formatSize)).toEqual(["7 B", "950 B", "1.5 KB", "2.5 MB", "3.0 GB"]);
  expect([4.23, 185, 7800].map(format.formatSeconds)).toEqual(["4.2 s", "3 min 5 s", "2 h 10 min"]);
  expect([7, 720, 10_800, 180_000].map(format.formatAge)).toEqual(["7s", "12m", "3h", "2d"]);
});

test("a time of another day has its date", () => {
  const noon = new Date(2026, 3, 5, 12, 30).getTime() / 1000;
  expect(format.formatTime(noon, noon, "en")).toBe("12:30:00");
  expect(format.formatTime(noon, noon + 2 * 86_400, "en")).toContain("2026");
});

test("keys are told apart", () => {
  const press = { key: "k", ctrlKey: true, metaKey: false, altKey: false, shiftKey: false };
  expect(matches(parseKey("Mod+k"), press, "")).toBe(true);
  expect(matches(parseKey("k"), press, "")).toBe(false);
  expect(matches(parseKey("?"), { ...press, key: "?", ctrlKey: false, shiftKey: true }, "")).toBe(true);
  expect(matches(parseKey("g b"), { ...press, key: "b", ctrlKey: false }, "g")).toBe(true);
  expect(matches(parseKey("g b"), { ...press, key: "b", ctrlKey: false }, "x")).toBe(false);
});

test("keys of the page count while one neither types nor has a dialog open", () => {
  const done = vi.fn<() => void>();
  const Used = () => (useKey("m", "Do it", done), (<input aria-label="words" />));
  const page = (isOpen: boolean) => (
    <>
      <Keys />
      <Used />
      <Dialog isOpen={isOpen} onClose={() => undefined} title="Sure?">
        text
      </Dialog>
    </>
  );
  const { rerender } = render(page(false));
  fireEvent.keyDown(screen.getByRole("textbox"), { key: "m" });
  expect(done).not.toHaveBeenCalled();
  fireEvent.keyDown(document.body, { key: "m" });
  expect(done).toHaveBeenCalledTimes(1);
  rerender(page(true));
  fireEvent.keyDown(document.body, { key: "m" });
  expect(done).toHaveBeenCalledTimes(1);
});

test("only pages of ours are led to after logging in", () => {
  expect(nextPage("/ui/agents/a/board?x=1")).toBe("/agents/a/board?x=1");
  for (const odd of [null, "", "//evil.example", "https://evil.example", "/\\evil", "/ui/login"]) {
    expect(nextPage(odd)).toBe("/");
  }
  expect(paths.files("my agent", "a b/c.md")).toBe("/agents/my%20agent/files/a%20b/c.md");
});

test("code shows what would be unseen in it or turn it round, other texts of the world stay", () => {
  expect(format.withUnseenShown("rm \u202Egnp.exe\u2066 a\u200bb")).toBe("rm ⟨U+202E⟩gnp.exe⟨U+2066⟩ a⟨U+200B⟩b");
  expect(format.withUnseenShown("تحليل 👩‍💻 é\n")).toBe("تحليل 👩‍💻 é\n");
});

test("no text of an element has unseen characters", () => {
  const name = "report\u202Egpj.exe";
  const { container } = render(
    <a href={`/files/${name}`} title={name}>
      <Icon name="file" /> {name}
    </a>,
  );
  const link = container.querySelector("a");
  expect(link?.textContent).toBe(" report⟨U+202E⟩gpj.exe");
  expect(link?.title).toBe("report⟨U+202E⟩gpj.exe");
  expect(link?.getAttribute("href")).toContain("\u202E");
});

test("a heading that says no more than the title above it is left out", () => {
  expect(format.withoutTitle("# limits\n\nList them", "limits")).toBe("List them");
  expect(format.withoutTitle("# limits of all\n\nx", "limits")).toBe("# limits of all\n\nx");
});

test("what differs has its place in both texts", () => {
  const lines = diffLines("a\nb\nc\n", "a\nB\nc\n");
  expect(lines.map(({ kind, text }) => [kind, text])).toEqual([
    ["same", "a"],
    ["removed", "b"],
    ["added", "B"],
    ["same", "c"],
  ]);
  expect(diffLines("same", "same")).toEqual([]);
});

test("addresses that run something lead nowhere", () => {
  expect(safeAddress("https://a.example/x")).toBe("https://a.example/x");
  for (const odd of ["javascript:alert(1)", "data:text/html,x", "/agents", "vbscript:x"]) {
    expect(safeAddress(odd)).toBe("");
  }
});

test("hostile Markdown is text", () => {
  const text =
    '<img src=x onerror="alert(1)"><script>alert(1)</script>\n\n[x](javascript:alert(1)) ![p](https://a.example/p.png)';
  const { container } = render(<MarkdownView text={text} />);
  expect(container.querySelectorAll("script, img, iframe, [onerror]")).toHaveLength(0);
  expect(Array.from(container.querySelectorAll("a"), (a) => a.getAttribute("href"))).toEqual([
    "https://a.example/p.png",
  ]);
  expect(container.querySelector("a")?.rel).toBe("noopener noreferrer nofollow");
});

test("a status has a sign and a word, unread messages a number and words", () => {
  render(
    <>
      <StatusSign status="waiting_for_human" />
      <Unread count={3} />
    </>,
  );
  expect(screen.getByText("?")).toBeTruthy();
  expect(screen.getByText("asks you")).toBeTruthy();
  expect(screen.getByText("3 unread messages")).toBeTruthy();
});

test("the language is the chosen one, else the browser's, else English", () => {
  expect(wantedLanguage("en", ["de-DE"])).toBe("en");
  expect(wantedLanguage(null, ["fr", "de-AT"])).toBe("de");
  expect(wantedLanguage("xx", ["fr"])).toBe("en");
  expect(titleOf(2, "Board")).toBe("(2) Board · Agiraph");
});

test("who is at the end of a list stays there until he moves up himself", () => {
  const [wasAtEnd, hasMovedUp] = [true, true];
  expect(isStillAtEnd(0, !wasAtEnd, hasMovedUp)).toBe(true);
  expect(isStillAtEnd(2222, wasAtEnd, !hasMovedUp)).toBe(true);
  expect(isStillAtEnd(2222, wasAtEnd, hasMovedUp)).toBe(false);
  expect(isStillAtEnd(2222, !wasAtEnd, !hasMovedUp)).toBe(false);
});

test("the day of a time is told by the clock of the reader", () => {
  const dayOf = format.makeDayOf();
  const [noon, evening, night] = [[2, 12], [2, 23], [3, 1]].map(
    ([day, hour]) => new Date(2026, 10, day, hour).getTime() / 1000,
  ) as [number, number, number];
  expect(dayOf(noon)).toBe(dayOf(evening));
  expect(dayOf(night)).not.toBe(dayOf(evening));
  expect(dayOf(noon)).toBe(dayOf(evening));
});
