// A folder: its entries, and all of it as a zip file.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { type FileEntry, type Folder, zipUrl } from "~/api/files";
import { type Column, Empty, Icon, paths, Size, Table, Time } from "~/ui";
import styles from "./files.module.css";
import { PlaceHead } from "./PlaceHead";

interface FolderPageProps {
  agent: string;
  run: string | undefined;
  folder: Folder;
}

type Words = (key: "name" | "size" | "changed") => string;

const columnsOf = (t: Words, agent: string, run: string | undefined): Column<FileEntry>[] => [
  { key: "name", label: t("name"), cell: (entry) => <Name agent={agent} run={run} entry={entry} /> },
  {
    key: "size",
    label: t("size"),
    isNumber: true,
    cell: (entry) => (entry.kind === "file" ? <Size bytes={entry.size} /> : null),
  },
  {
    key: "changed",
    label: t("changed"),
    isNumber: true,
    isMinor: true,
    cell: (entry) => (entry.modified_at ? <Time at={entry.modified_at} /> : null),
  },
];

export function FolderPage({ agent, run, folder }: FolderPageProps) {
  const { t } = useTranslation("files");
  if (!folder.entries.length && !folder.path) {
    return (
      <Empty icon="folder" title={t("emptyTitle")}>
        {t("emptyAbout")}
      </Empty>
    );
  }
  return (
    <>
      <PlaceHead agent={agent} run={run} path={folder.path}>
        <a className={styles.act} href={zipUrl(agent, folder.path, run)} download>
          <Icon name="download" />
          {t("zip")}
        </a>
      </PlaceHead>
      {folder.entries.length ? (
        <Table label={folder.path || t("title")} columns={columnsOf(t, agent, run)} rows={folder.entries} rowKey={(one) => one.path} />
      ) : (
        <p className={styles.note}>{t("folderEmpty")}</p>
      )}
      {folder.is_truncated && <p className={styles.note}>{t("truncated")}</p>}
    </>
  );
}

function Name({ agent, run, entry }: { agent: string; run: string | undefined; entry: FileEntry }) {
  const { t } = useTranslation("files");
  if (entry.kind === "link" || entry.kind === "other") return <span title={t(entry.kind)}>{entry.name}</span>;
  return (
    <Link
      className={styles.name}
      to={{ pathname: paths.files(agent, entry.path), search: run ? `?run=${run}` : "" }}
    >
      <Icon name={entry.kind} />
      {entry.name}
    </Link>
  );
}
