// Files of a node: a list, a preview beneath the one that is open, what an attempt has changed.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { escapePath } from "~/api/client";
import { isFolder, type Listing, type NodePlace, useNodeFiles } from "~/api/queries";
import { classes, Code, DiffView, Icon, Loaded, Markdown, Select, Size } from "~/ui";
import type { OfNode } from "./Facts";
import { isImage, kindOf, listFiles, type NodeFile } from "./files";
import styles from "./panel.module.css";

const LEVELS = 6;

export function NodeFiles({ agent, node, place }: OfNode & { place: NodePlace }) {
  const { t } = useTranslation("board");
  const folder = useNodeFiles(agent, node.id, place, "", { depth: LEVELS });
  const root = `${node.path}/${place}`;
  const [against, setAgainst] = useState<number | null>(null);
  const earlier = place === "published" ? node.earlier_attempts : [];
  return (
    <>
      {earlier.length > 0 && (
        <Select
          label={t("compare")}
          value={against ?? ""}
          onChange={(event) => setAgainst(Number(event.target.value) || null)}
        >
          <option value="">{t("compareNone")}</option>
          {earlier.map((attempt) => (
            <option key={attempt} value={attempt}>
              {t("attemptNumber", { count: attempt })}
            </option>
          ))}
        </Select>
      )}
      <Loaded query={folder}>
        {(listing) => {
          const files = listFiles(listing, root);
          if (!files.length) return <p className={styles.faint}>{t("noFiles")}</p>;
          return (
            <ul className={styles.files}>
              {files.map((file) => (
                <FileRow key={file.path} {...{ agent, node, place, file, against }} isFirst={files.length === 1} />
              ))}
            </ul>
          );
        }}
      </Loaded>
    </>
  );
}

interface FileRowProps extends OfNode {
  place: NodePlace;
  file: NodeFile;
  against: number | null;
  isFirst: boolean;
}

function FileRow({ agent, node, place, file, against, isFirst }: FileRowProps) {
  const { t } = useTranslation("board");
  const [isOpen, setOpen] = useState(isFirst);
  const url = `/agents/${escapePath(agent)}/board/${escapePath(node.id)}/${place}/${escapePath(file.path)}?as=raw`;
  return (
    <li className={styles.fileItem}>
      <div className={styles.fileRow}>
        <button
          type="button"
          className={styles.fileOpen}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <span className={classes(styles.turner, isOpen && styles.turned)}>
            <Icon name="chevron" size={14} />
          </span>
          <span className={styles.fileName}>{file.path}</span>
          <span className={styles.faint}>
            <Size bytes={file.size} />
          </span>
        </button>
        <a className={styles.download} href={url} download={file.name} aria-label={t("download", { name: file.path })}>
          <Icon name="download" size={14} />
        </a>
      </div>
      {isOpen && (isImage(file.name) ? (
        <img className={styles.image} src={url} alt={file.path} />
      ) : (
        <Preview {...{ agent, node, place, file, against }} />
      ))}
    </li>
  );
}

function Preview({ agent, node, place, file, against }: Omit<FileRowProps, "isFirst">) {
  const { t } = useTranslation("board");
  const now = useNodeFiles(agent, node.id, place, file.path);
  const before = useNodeFiles(agent, node.id, place, file.path, {
    ...(against === null ? {} : { attempt: against }),
    isWanted: against !== null,
  });
  return (
    <div className={styles.preview}>
      <Loaded query={now}>
        {(content) => {
          const text = textOf(content);
          if (text === null) return <p className={styles.faint}>{t("noText")}</p>;
          if (against !== null && !before.isPending) {
            const names = [
              t("attemptNumber", { count: against }),
              t("attemptNumber", { count: node.attempt }),
            ] as const;
            const earlier = before.data ? (textOf(before.data) ?? "") : "";
            return <DiffView before={earlier} after={text} names={names} />;
          }
          const kind = kindOf(file.name);
          return kind === "md" ? <Markdown text={text} /> : <Code text={text} language={kind} />;
        }}
      </Loaded>
    </div>
  );
}

const textOf = (content: Listing): string | null =>
  isFolder(content) || content.encoding !== "utf-8" ? null : content.content;
