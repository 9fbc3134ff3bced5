// The tree: folders open in place, of a long list only what is on screen exists.
import { type KeyboardEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useFolders } from "~/api/files";
import { classes, Icon, paths, VirtualList } from "~/ui";
import styles from "./files.module.css";
import { foldersAbove, rowsOf, type TreeRow } from "./tree";

interface TreeProps {
  agent: string;
  run: string | undefined;
  /** What is shown: the folders above it are open at first. */
  path: string;
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

/** Move the focus to the row before or after. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  const rows = Array.from(event.currentTarget.querySelectorAll<HTMLElement>("[data-row]"));
  rows.sort((a, b) => Number(a.dataset["row"]) - Number(b.dataset["row"]));
  rows[rows.indexOf(document.activeElement as HTMLElement) + step]?.focus();
}

export function Tree({ agent, run, path }: TreeProps) {
  const { t } = useTranslation("files");
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(foldersAbove(path)));
  const [shown, setShown] = useState(path);
  if (shown !== path) {
    setShown(path);
    setOpen(new Set([...open, ...foldersAbove(path)]));
  }
  const folders = useFolders(agent, ["", ...open], run);
  const rows = rowsOf(folders, open);
  const turn = (folder: string, isOpen: boolean) => {
    const next = new Set(open);
    if (isOpen) next.add(folder);
    else next.delete(folder);
    setOpen(next);
  };
  return (
    <div className={styles.rows} role="none" onKeyDown={moveFocus}>
      <VirtualList rows={rows} rowKey={(row) => row.entry.path} label={t("tree")} estimate={30}>
        {(row, place) => (
          <Row agent={agent} run={run} row={row} place={place} isChosen={row.entry.path === path} onTurn={turn} />
        )}
      </VirtualList>
    </div>
  );
}

interface RowProps {
  agent: string;
  run: string | undefined;
  row: TreeRow;
  place: number;
  isChosen: boolean;
  onTurn: (folder: string, isOpen: boolean) => void;
}

function Row({ agent, run, row, place, isChosen, onTurn }: RowProps) {
  const { t } = useTranslation("files");
  const { entry, level, isOpen } = row;
  const isFolder = entry.kind === "folder";
  const look = classes(styles.row, entry.name.startsWith(".") && styles.hidden);
  const style = { paddingLeft: 8 + level * 14 };
  const name = <span className={styles.rowName}>{entry.name}</span>;
  if (entry.kind === "link" || entry.kind === "other") {
    return (
      <span className={classes(look, styles.hidden)} style={style} title={t(entry.kind)}>
        <Icon name="external" />
        {name}
      </span>
    );
  }
  const address = { pathname: paths.files(agent, entry.path), search: run ? `?run=${run}` : "" };
  return (
    <Link
      to={address}
      className={look}
      style={style}
      data-row={place}
      title={entry.name}
      aria-current={isChosen ? "page" : undefined}
      aria-expanded={isFolder ? isOpen : undefined}
      onClick={() => isFolder && onTurn(entry.path, !(isOpen && isChosen))}
      onKeyDown={({ key }) => {
        if (isFolder && (key === "ArrowRight" || key === "ArrowLeft")) {
          onTurn(entry.path, key === "ArrowRight");
        }
      }}
    >
      {isFolder && (
        <span className={classes(styles.arrow, isOpen && styles.isOpen)}>
          <Icon name="chevron" size={12} />
        </span>
      )}
      <Icon name={isFolder ? "folder" : "file"} />
      {name}
    </Link>
  );
}
