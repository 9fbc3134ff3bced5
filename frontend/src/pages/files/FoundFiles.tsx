// The files that somebody looks for by words of their path.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useAllNames } from "~/api/files";
import { isFolder } from "~/api/queries";
import { Icon, Loaded, paths } from "~/ui";
import styles from "./files.module.css";
import { found } from "./tree";

interface FoundProps {
  agent: string;
  run: string | undefined;
  words: string;
  /** Given, a file is handed over instead of being opened. */
  onChoose?: (path: string) => void;
}

export function FoundFiles({ agent, run, words, onChoose }: FoundProps) {
  const { t } = useTranslation("files");
  const all = useAllNames(agent, true, run);
  return (
    <Loaded query={all}>
      {(listing) => {
        const isCut = isFolder(listing) && listing.is_truncated;
        const files = isFolder(listing) ? found(listing.entries, words) : [];
        if (!files.length) return <p className={styles.note}>{t(isCut ? "truncated" : "foundNone")}</p>;
        return (
          <ul className={styles.found}>
            {files.map(({ path, name }) => {
              const shown = (
                <>
                  <Icon name="file" />
                  <span className={styles.rowName}>
                    {name}
                    <small>{path.slice(0, -name.length - 1)}</small>
                  </span>
                </>
              );
              return (
                <li key={path}>
                  {onChoose ? (
                    <button type="button" className={styles.row} onClick={() => onChoose(path)}>
                      {shown}
                    </button>
                  ) : (
                    <Link
                      className={styles.row}
                      to={{ pathname: paths.files(agent, path), search: run ? `?run=${run}` : "" }}
                    >
                      {shown}
                    </Link>
                  )}
                </li>
              );
            })}
          </ul>
        );
      }}
    </Loaded>
  );
}
