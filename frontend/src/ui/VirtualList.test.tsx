// @vitest-environment jsdom
import { act, fireEvent, render, screen } from "@testing-library/react";
import { createRef } from "react";
import { beforeEach, expect, test, vi } from "vitest";

import { VirtualList, type VirtualListHandle } from "./VirtualList";

const FRAME = 400;
const ROW = 72;

/** jsdom has no layout: the frame is FRAME high, a row ROW. */
beforeEach(() => {
  const { prototype } = HTMLElement;
  vi.spyOn(prototype, "offsetHeight", "get").mockImplementation(function (this: HTMLElement) {
    return this.dataset["index"] === undefined ? FRAME : ROW;
  });
  vi.spyOn(prototype, "clientHeight", "get").mockReturnValue(FRAME);
  vi.spyOn(prototype, "offsetWidth", "get").mockReturnValue(600);
  vi.spyOn(prototype, "scrollHeight", "get").mockImplementation(function (this: HTMLElement) {
    return parseFloat((this.firstElementChild as HTMLElement).style.height);
  });
  prototype.scrollTo = function (this: HTMLElement, to?: ScrollToOptions | number) {
    const top = typeof to === "object" ? (to.top ?? 0) : 0;
    queueMicrotask(() => scroll(this, top));
  };
});

function scroll(frame: HTMLElement, top: number): void {
  frame.scrollTop = Math.max(0, Math.min(top, frame.scrollHeight - FRAME));
  fireEvent.scroll(frame);
}

const numbers = (first: number, end: number) => Array.from({ length: end - first }, (_, at) => String(first + at));

interface ShownProps {
  rows: readonly string[];
  onNearStart?: () => void;
  onAtEnd?: (isAtEnd: boolean) => void;
}

async function shown(props: ShownProps) {
  const handle = createRef<VirtualListHandle>();
  const list = (now: ShownProps) => (
    <VirtualList ref={handle} rowKey={(row) => row} label="Rows" isFromEnd {...now}>
      {(row) => row}
    </VirtualList>
  );
  const { rerender } = await act(async () => render(list(props)));
  const frame = screen.getByRole("region");
  const show = (more: Partial<ShownProps>) => act(async () => rerender(list({ ...props, ...more })));
  return { frame, handle, show };
}

/** How far below the upper edge of the frame a row stands. */
function placeOf(frame: HTMLElement, row: string): number {
  const [, top] = /translateY\((.*)px\)/.exec(screen.getByText(row).style.transform) ?? [];
  return Number(top) - frame.scrollTop;
}

const rendered = () => Array.from(document.querySelectorAll("[data-index]"), (one) => Number(one.textContent));

test("the end is shown first, and few rows exist", async () => {
  const { frame } = await shown({ rows: numbers(0, 1000) });
  expect(rendered()).toContain(999);
  expect(rendered().length).toBeLessThan(40);
  expect(frame.scrollTop).toBe(frame.scrollHeight - FRAME);
});

test("older rows before the first leave what one reads where it is", async () => {
  const asked = vi.fn<() => void>();
  const { frame, show } = await shown({ rows: numbers(500, 600), onNearStart: asked });
  await act(async () => scroll(frame, 1000));
  asked.mockClear();
  await act(async () => scroll(frame, 310));
  expect(asked).toHaveBeenCalled();
  const read = rendered().find((row) => placeOf(frame, String(row)) >= 0);
  const before = placeOf(frame, String(read));
  await show({ rows: numbers(400, 600) });
  expect(placeOf(frame, String(read))).toBe(before);
  expect(frame.scrollTop).toBeGreaterThan(310);
});

test("who is at the end stays there, who is not is left where he reads and told", async () => {
  const told = vi.fn<(isAtEnd: boolean) => void>();
  const { frame, show, handle } = await shown({ rows: numbers(0, 100), onAtEnd: told });
  await show({ rows: numbers(0, 103) });
  expect(frame.scrollTop).toBe(frame.scrollHeight - FRAME);
  expect(told).toHaveBeenLastCalledWith(true);
  await act(async () => scroll(frame, 2000));
  expect(told).toHaveBeenLastCalledWith(false);
  const top = frame.scrollTop;
  await show({ rows: numbers(0, 110) });
  expect(frame.scrollTop).toBe(top);
  await act(async () => handle.current?.toEnd());
  expect(rendered()).toContain(109);
  await act(async () => handle.current?.toKey("3"));
  expect(rendered()).toContain(3);
});
