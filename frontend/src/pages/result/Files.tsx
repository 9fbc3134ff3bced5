// The files that a run has delivered: each a link, with a preview beneath the one that is open.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { rawUrl } from "~/api/client";
import type { DeliveredFile } from "~/api/delivered";
import { usePlace } from "~/api/files";
import { isFolder } from "~/api/queries";
import { Button, classes, Code, formatSize, Icon, Loaded, Markdown, paths, Size } from "~/ui";
import styles from "./result.module.css";

/** So many are listed at first. */
const FIRST = 100;

interface FilesProps {
  agent: string;
  run: string;
  files: readonly DeliveredFile[];
}

export function Files({ agent, run, files }: FilesProps) {
  const { t } = useTranslation("result");
  const [isWhole, setWhole] = useState(false);
  if (!files.length) return <p className={styles.faint}>{t("noFiles")}</p>;
  return (
    <>
      <ul className={styles.list}>
        {(isWhole ? files : files.slice(0, FIRST)).map((file) => (
          <FileRow key={file.path} agent={agent} run={run} file={file} isFirst={files.length === 1} />
        ))}
      </ul>
      {!isWhole && files.length > FIRST && (
        <Button size="s" onClick={() => setWhole(true)}>
          {t("allFiles", { count: files.length })}
        </Button>
      )}
    </>
  );
}

interface FileProps {
  agent: string;
  run: string;
  file: DeliveredFile;
}

function FileRow({ agent, run, file, isFirst }: FileProps & { isFirst: boolean }) {
  const { t } = useTranslation("result");
  const [isOpen, setOpen] = useState(isFirst && file.size !== null);
  const { name, path, size } = file;
  return (
    <li>
      <div className={styles.row}>
        <button
          type="button"
          className={classes(styles.turner, isOpen && styles.turned)}
          aria-expanded={isOpen}
          aria-label={t(isOpen ? "hide" : "preview", { name })}
          disabled={size === null}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="chevron" size={14} />
        </button>
        <Link className={styles.name} to={{ pathname: paths.files(agent, path), search: `?run=${run}` }}>
          {name}
        </Link>
        <span className={styles.faint}>{size === null ? t("gone") : <Size bytes={size} />}</span>
        <a href={rawUrl(agent, "workspace", path, run)} download aria-label={t("download", { name })}>
          <Icon name="download" size={14} />
        </a>
      </div>
      {isOpen && <Preview agent={agent} run={run} file={file} />}
    </li>
  );
}

const IMAGE = /\.(png|jpe?g|gif|webp|avif)$/i;
const endOf = (path: string) => /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";

function Preview({ agent, run, file: { path } }: FileProps) {
  if (IMAGE.test(path)) return <img className={styles.image} src={rawUrl(agent, "workspace", path, run)} alt={path} />;
  return <TextPreview agent={agent} run={run} path={path} />;
}

function TextPreview({ agent, run, path }: { agent: string; run: string; path: string }) {
  const { t } = useTranslation("result");
  const place = usePlace(agent, path, run);
  return (
    <div className={styles.preview}>
      <Loaded query={place}>
        {(file) => {
          if (isFolder(file) || file.encoding !== "utf-8") return <p className={styles.faint}>{t("noText")}</p>;
          const end = endOf(path);
          return (
            <>
              {end === "md" ? <Markdown text={file.content} /> : <Code text={file.content} language={end} />}
              {file.is_truncated && <p className={styles.faint}>{t("partly", { size: formatSize(file.returned) })}</p>}
            </>
          );
        }}
      </Loaded>
    </div>
  );
}
