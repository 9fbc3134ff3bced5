// The content of a file. Nothing of it runs: text is text, pictures are pictures.
import { useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";

import { rawUrl } from "~/api/client";
import { type FileContent, useBytes } from "~/api/files";
import { Button, Code, Empty, Loaded, Markdown } from "~/ui";
import styles from "./files.module.css";
import { type Kind, languageOf, parseTable } from "./tree";

interface PreviewProps {
  agent: string;
  run: string | undefined;
  file: FileContent;
  kind: Kind;
}

export function Preview({ agent, run, file, kind }: PreviewProps) {
  const { t } = useTranslation("files");
  switch (kind) {
    case "markdown":
      return <Markdown text={file.content} />;
    case "table":
      return <TableText file={file} />;
    case "image": {
      const address = `${rawUrl(agent, "workspace", file.path, run)}&v=${encodeURIComponent(file.etag)}`;
      return <img className={styles.image} src={address} alt={file.path} />;
    }
    case "pdf":
      return navigator.pdfViewerEnabled ? (
        <Pdf agent={agent} run={run} file={file} />
      ) : (
        <Empty icon="file" title={t("binaryTitle")}>
          {t("noPdf")}
        </Empty>
      );
    case "text":
      return <Code text={file.content} language={languageOf(file.path)} hasNumbers />;
    case "binary":
      return (
        <Empty icon="file" title={t("binaryTitle")}>
          {t("binaryAbout")}
        </Empty>
      );
  }
}

const ROWS = 500;

function TableText({ file }: { file: FileContent }) {
  const { t } = useTranslation("files");
  const [most, setMost] = useState(ROWS);
  const separator = /\.tsv$/i.test(file.path) ? "\t" : ",";
  const [head = [], ...rows] = useMemo(() => parseTable(file.content, separator), [file.content, separator]);
  return (
    <>
      <div className={styles.table} role="region" aria-label={file.path} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {head.map((cell, column) => (
                <th key={column} scope="col">
                  {cell}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, most).map((row, place) => (
              <tr key={place}>
                {row.map((cell, column) => (
                  <td key={column}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className={styles.note}>{t("rows", { count: rows.length })}</p>
      {rows.length > most && (
        <Button size="s" onClick={() => setMost(most + ROWS)}>
          {t("moreRows", { count: Math.min(ROWS, rows.length - most) })}
        </Button>
      )}
    </>
  );
}

function Pdf({ agent, run, file }: { agent: string; run: string | undefined; file: FileContent }) {
  const bytes = useBytes(agent, file, run);
  return <Loaded query={bytes}>{(blob) => <Framed blob={blob} title={file.path} />}</Loaded>;
}

/** Bytes that the browser shows by itself, under an address that ends with this component. */
function Framed({ blob, title }: { blob: Blob; title: string }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  // A sandbox would keep the browser from showing a PDF; its type is ours, so nothing else is shown.
  // oxlint-disable-next-line react/iframe-missing-sandbox
  return address && <iframe className={styles.pdf} src={address} title={title} />;
}
