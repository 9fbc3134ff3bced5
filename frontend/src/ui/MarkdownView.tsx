// Markdown of others, as React elements: no HTML of theirs, no image fetched, no odd link.
import { memo } from "react";
import type { Components } from "react-markdown";
import ReactMarkdown from "react-markdown";
import rehypeHighlight from "rehype-highlight";
import remarkGfm from "remark-gfm";

import "./highlight.css";
import styles from "./Markdown.module.css";
import { safeAddress } from "./links";
import { SafeLink } from "./SafeLink";

const COMPONENTS: Components = {
  a: ({ href, children }) => <SafeLink href={href}>{children}</SafeLink>,
  img: ({ src, alt }) => (
    <SafeLink href={typeof src === "string" ? src : undefined}>{alt || "image"}</SafeLink>
  ),
  input: ({ checked }) => <input type="checkbox" checked={checked ?? false} readOnly disabled aria-label="task" />,
  table: ({ children }) => (
    <div className={styles.table} tabIndex={0} role="region" aria-label="table">
      <table>{children}</table>
    </div>
  ),
  pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
};

/** Made once: it knows some forty languages. */
const highlight = rehypeHighlight({ detect: false });
const HIGHLIGHTED = [() => highlight];
const GFM = [remarkGfm];

export default memo(function MarkdownView({ text }: { text: string }) {
  return (
    <div className={styles.markdown}>
      <ReactMarkdown
        remarkPlugins={GFM}
        rehypePlugins={HIGHLIGHTED}
        components={COMPONENTS}
        urlTransform={safeAddress}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
});
