// Where one is: each folder above as a link, and what can be done with what is there.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { paths } from "~/ui";
import styles from "./files.module.css";
import { foldersAbove } from "./tree";

interface PlaceHeadProps {
  agent: string;
  run: string | undefined;
  path: string;
  about?: ReactNode;
  children: ReactNode;
}

export function PlaceHead({ agent, run, path, about, children }: PlaceHeadProps) {
  const { t } = useTranslation("files");
  const search = run ? `?run=${run}` : "";
  const name = path.slice(path.lastIndexOf("/") + 1);
  return (
    <header className={styles.head}>
      <div className={styles.where}>
        <ol className={styles.crumbs}>
          <li>
            <Link to={{ pathname: paths.files(agent), search }}>{t("up")}</Link>
          </li>
          {foldersAbove(path).map((folder) => (
            <li key={folder}>
              <Link to={{ pathname: paths.files(agent, folder), search }}>
                {folder.slice(folder.lastIndexOf("/") + 1)}
              </Link>
            </li>
          ))}
        </ol>
        {name && <h2>{name}</h2>}
        {about && <p className={styles.about}>{about}</p>}
      </div>
      <div className={styles.acts}>{children}</div>
    </header>
  );
}
