// Markdown, highlighted code and diffs: fetched when first shown, the plain text until then.
import { Suspense } from "react";

import { fetchedPart } from "./fetched";
import { withUnseenShown } from "./format";
import styles from "./Markdown.module.css";

const MarkdownView = fetchedPart(() => import("./MarkdownView"), PlainText);
const CodeView = fetchedPart(() => import("./CodeView"), PlainCode);
const DiffTexts = fetchedPart(() => import("./DiffTexts"), PlainAfter);

function PlainText({ text }: { text: string }) {
  return <div className={styles.plain}>{text}</div>;
}

function PlainCode({ text }: CodeProps) {
  return <pre className={styles.code}>{withUnseenShown(text)}</pre>;
}

function PlainAfter({ after }: DiffProps) {
  return <pre className={styles.code}>{withUnseenShown(after)}</pre>;
}

export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<PlainText text={text} />}>
      <MarkdownView text={text} />
    </Suspense>
  );
}

interface CodeProps {
  text: string;
  /** A language of highlight.js or the ending of a file's name: `py`, `json`. */
  language?: string;
  hasNumbers?: boolean;
}

export function Code(props: CodeProps) {
  return (
    <Suspense fallback={<PlainCode {...props} />}>
      <CodeView {...props} />
    </Suspense>
  );
}

interface DiffProps {
  before: string;
  after: string;
  /** What the two are called. */
  names?: readonly [string, string];
}

/** What differs between two texts, as one column. */
export function DiffView(props: DiffProps) {
  return (
    <Suspense fallback={<PlainAfter {...props} />}>
      <DiffTexts {...props} />
    </Suspense>
  );
}
