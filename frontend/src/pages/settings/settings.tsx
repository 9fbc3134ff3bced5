// The settings of the home: its YAML files, each as a form and as the text that it is.
import { useTranslation } from "react-i18next";
import { Link, useParams } from "react-router";

import { type SettingsFile, useSettingsFile, useSettingsFiles } from "~/api/system";
import { Badge, Empty, Icon, Loaded, Page, paths } from "~/ui";
import { FileEditor } from "./FileEditor";
import styles from "./settings.module.css";

const FIRST = "agiraph.yaml";

export default function Settings() {
  const { t } = useTranslation("settings");
  const file = useParams()["*"] || FIRST;
  const query = useSettingsFiles();
  return (
    <Page title={t("title")} isWhole>
      <Loaded query={query} lines={8}>
        {(files) => (
          <div className={styles.page}>
            <Files files={files} shown={file} />
            {files.some((one) => one.name === file) ? (
              <OneFile key={file} file={file} />
            ) : (
              <Empty icon="search" title={t("noFile", { file })} />
            )}
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function Files({ files, shown }: { files: readonly SettingsFile[]; shown: string }) {
  const { t } = useTranslation("settings");
  return (
    <nav className={styles.files} aria-label={t("files")}>
      {files.map((file) => (
        <Link
          key={file.name}
          to={paths.settings(file.name)}
          className={styles.file}
          aria-current={file.name === shown ? "page" : undefined}
        >
          <Icon name="file" />
          <span>{file.name}</span>
          {file.problems.length > 0 && (
            <Badge tone="bad">{t("problems", { count: file.problems.length })}</Badge>
          )}
        </Link>
      ))}
    </nav>
  );
}

function OneFile({ file }: { file: string }) {
  const query = useSettingsFile(file);
  return (
    <Loaded query={query} lines={12}>
      {(content) => <FileEditor content={content} onRefetch={() => query.refetch()} />}
    </Loaded>
  );
}
