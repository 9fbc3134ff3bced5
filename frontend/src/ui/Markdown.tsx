// Markdown, highlighted code and diffs: fetched when first shown, the plain text until then.
import { lazy, Suspense } from "react";

import { withUnseenShown } from "./format";
import styles from "./Markdown.module.css";

const MarkdownView = lazy(() => import("./MarkdownView"));
const CodeView = lazy(() => import("./CodeView"));
const DiffTexts = lazy(() => import("./DiffTexts"));

export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<div className={styles.plain}>{text}</div>}>
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
    <Suspense fallback={<pre className={styles.code}>{withUnseenShown(props.text)}</pre>}>
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
    <Suspense fallback={<pre className={styles.code}>{withUnseenShown(props.after)}</pre>}>
      <DiffTexts {...props} />
    </Suspense>
  );
}
