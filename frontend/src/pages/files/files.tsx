// The files of a run: a tree, and beside it the folder or file that the address names.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useParams, useSearchParams } from "react-router";

import { usePlace } from "~/api/files";
import { isFolder, useRuns } from "~/api/queries";
import { Loaded, Page, SearchInput, Select, Split, useAgentId } from "~/ui";
import { FileView } from "./FileView";
import styles from "./files.module.css";
import { FolderPage } from "./FolderPage";
import { FoundFiles } from "./FoundFiles";
import { Tree } from "./Tree";

export default function Files() {
  const { t } = useTranslation("files");
  const agent = useAgentId();
  const path = useParams()["*"] ?? "";
  const [search] = useSearchParams();
  const run = search.get("run") ?? undefined;
  const [words, setWords] = useState("");
  const place = usePlace(agent, path, run);
  const side = (
    <>
      <SearchInput label={t("find")} value={words} onText={setWords} />
      <div className={styles.tree}>
        {words.trim() ? (
          <FoundFiles agent={agent} run={run} words={words} />
        ) : (
          <Tree agent={agent} run={run} path={path} />
        )}
      </div>
    </>
  );
  return (
    <Page title={t("title")} actions={<Runs agent={agent} run={run} />} isWhole>
      <Split side={side} sideLabel={t("tree")} isChosen={path !== ""}>
        <Loaded query={place} lines={8}>
          {(listing) =>
            isFolder(listing) ? (
              <FolderPage agent={agent} run={run} folder={listing} />
            ) : (
              <FileView key={listing.path} agent={agent} run={run} file={listing} />
            )
          }
        </Loaded>
      </Split>
    </Page>
  );
}

/** Which run's files are shown, where an agent has several. */
function Runs({ agent, run }: { agent: string; run: string | undefined }) {
  const { t } = useTranslation("files");
  const { data = [] } = useRuns(agent);
  const [, setSearch] = useSearchParams();
  if (data.length < 2) return null;
  const last = data.at(-1)?.id;
  return (
    <Select
      label={t("run")}
      isLabelUnseen
      value={run ?? last}
      onChange={({ target: { value } }) => setSearch(value === last ? {} : { run: value })}
    >
      {data.toReversed().map(({ id, goal }) => (
        <option key={id} value={id}>
          {id === last ? t("currentRun") : `${id.slice(0, 15)} ${goal.slice(0, 40)}`}
        </option>
      ))}
    </Select>
  );
}
