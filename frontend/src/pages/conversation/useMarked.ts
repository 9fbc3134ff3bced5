// Marks words in what is on the screen, without touching it: highlights of the browser's own.
import { type RefObject, useEffect } from "react";

import { placesOf } from "./search";

const NAME = "found";

export function useMarked(frame: RefObject<HTMLElement | null>, words: readonly string[]): void {
  const wanted = words.join(" ");
  useEffect(() => {
    const element = frame.current;
    if (!element || !wanted || !("highlights" in CSS)) return;
    const mark = () => {
      const ranges = rangesIn(element, wanted.split(" "));
      CSS.highlights.set(NAME, new Highlight(...ranges));
    };
    const observer = new MutationObserver(mark);
    observer.observe(element, { childList: true, subtree: true, characterData: true });
    mark();
    return () => {
      observer.disconnect();
      CSS.highlights.delete(NAME);
    };
  }, [frame, wanted]);
}

function rangesIn(element: HTMLElement, words: readonly string[]): Range[] {
  const ranges: Range[] = [];
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    for (const [from, to] of placesOf(text.textContent ?? "", words)) {
      const range = document.createRange();
      range.setStart(text, from);
      range.setEnd(text, to);
      ranges.push(range);
    }
  }
  return ranges;
}
