// Code with its colours; a language that is not known, or a very long text, stays plain.
import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import { common, createLowlight } from "lowlight";
import { useMemo } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";

import { withUnseenShown } from "./format";
import "./highlight.css";
import styles from "./Markdown.module.css";

const LONGEST = 200_000;
const lowlight = createLowlight(common);

interface CodeViewProps {
  text: string;
  language?: string;
  hasNumbers?: boolean;
}

export default function CodeView({ text: code, language = "", hasNumbers = false }: CodeViewProps) {
  const text = useMemo(() => withUnseenShown(code), [code]);
  const shown = useMemo(() => {
    if (!lowlight.registered(language) || text.length > LONGEST) return text;
    return toJsxRuntime(lowlight.highlight(language, text), { Fragment, jsx, jsxs });
  }, [text, language]);
  const lines = useMemo(
    () => Array.from({ length: text.split("\n").length }, (_, line) => line + 1).join("\n"),
    [text],
  );
  return (
    <pre className={styles.code} tabIndex={0}>
      {hasNumbers && (
        <span className={styles.numbers} aria-hidden="true">
          {lines}
        </span>
      )}
      <code>{shown}</code>
    </pre>
  );
}
