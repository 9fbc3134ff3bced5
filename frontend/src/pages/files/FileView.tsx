// A file: as what it is (Markdown, a table, code, an image, a PDF), or compared with another.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { rawUrl } from "~/api/client";
import type { FileContent } from "~/api/files";
import { Button, formatSize, Icon, Size, useQuery } from "~/ui";
import { ChooseOther, Comparison } from "./Comparison";
import styles from "./files.module.css";
import { PlaceHead } from "./PlaceHead";
import { Preview } from "./Preview";
import { kindOf } from "./tree";

interface FileViewProps {
  agent: string;
  run: string | undefined;
  file: FileContent;
}

const WITH_SOURCE = ["markdown", "table"];

export function FileView({ agent, run, file }: FileViewProps) {
  const { t } = useTranslation("files");
  const [isSource, setSource] = useState(false);
  const [isChoosing, setChoosing] = useState(false);
  const [search, setSearch] = useQuery();
  const other = search.get("with");
  const isText = file.encoding === "utf-8";
  const kind = kindOf(file.media_type, file.path, isText);
  const compare = (path: string | null) => {
    setChoosing(false);
    setSearch({ with: path }, true);
  };
  return (
    <>
      <PlaceHead agent={agent} run={run} path={file.path} about={<Size bytes={file.size} />}>
        {WITH_SOURCE.includes(kind) && other === null && (
          <Button size="s" aria-pressed={isSource} onClick={() => setSource(!isSource)}>
            {t(isSource ? "rendered" : "source")}
          </Button>
        )}
        {isText && (
          <Button size="s" onClick={() => (other === null ? setChoosing(true) : compare(null))}>
            {t(other === null ? "compare" : "endCompare")}
          </Button>
        )}
        <a className={styles.act} href={rawUrl(agent, "workspace", file.path, run)} download>
          <Icon name="download" />
          {t("download")}
        </a>
      </PlaceHead>
      {other === null ? (
        <>
          <Preview agent={agent} run={run} file={file} kind={isSource ? "text" : kind} />
          {isText && file.is_truncated && (
            <p className={styles.note}>{t("partly", { size: formatSize(file.returned) })}</p>
          )}
        </>
      ) : (
        <Comparison agent={agent} run={run} file={file} other={other} />
      )}
      {isChoosing && (
        <ChooseOther agent={agent} run={run} file={file} onChoose={compare} onClose={() => setChoosing(false)} />
      )}
    </>
  );
}
