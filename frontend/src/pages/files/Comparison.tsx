// What differs between a file and another one of the run.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { type FileContent, usePlace } from "~/api/files";
import { isFolder } from "~/api/queries";
import { Dialog, DiffView, Input, Loaded } from "~/ui";
import styles from "./files.module.css";
import { FoundFiles } from "./FoundFiles";

interface ComparisonProps {
  agent: string;
  run: string | undefined;
  file: FileContent;
  other: string;
}

export function Comparison({ agent, run, file, other }: ComparisonProps) {
  const { t } = useTranslation("files");
  const place = usePlace(agent, other, run);
  return (
    <Loaded query={place}>
      {(found) =>
        isFolder(found) || found.encoding !== "utf-8" ? (
          <p className={styles.note}>{t("notText")}</p>
        ) : (
          <>
            <p className={styles.note}>{t("comparing", { path: other })}</p>
            <DiffView before={found.content} after={file.content} names={[other, file.path]} />
          </>
        )
      }
    </Loaded>
  );
}

interface ChooseOtherProps {
  agent: string;
  run: string | undefined;
  file: FileContent;
  onChoose: (path: string) => void;
  onClose: () => void;
}

/** Asks for the other file; those of the same name come first. */
export function ChooseOther({ agent, run, file, onChoose, onClose }: ChooseOtherProps) {
  const { t } = useTranslation("files");
  const [words, setWords] = useState(() => file.path.slice(file.path.lastIndexOf("/") + 1));
  return (
    <Dialog isOpen onClose={onClose} title={t("compareWith")} about={t("compareAbout")}>
      <Input
        label={t("find")}
        isLabelUnseen
        type="search"
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <div className={styles.choices}>
        <FoundFiles agent={agent} run={run} words={words} onChoose={onChoose} />
      </div>
    </Dialog>
  );
}
