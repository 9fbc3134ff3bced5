// The files that go with what one writes: how far each is, and what went wrong.
import { useTranslation } from "react-i18next";

import { Button, formatSize, Icon, IconButton } from "~/ui";
import styles from "./Composer.module.css";
import type { Upload } from "./uploads";

interface UploadsProps {
  all: readonly Upload[];
  onRetry: (one: Upload) => void;
  onRemove: (key: string) => void;
}

export function Uploads({ all, onRetry, onRemove }: UploadsProps) {
  const { t } = useTranslation("conversation");
  if (!all.length) return null;
  return (
    <ul className={styles.uploads} aria-label={t("files")}>
      {all.map((one) => (
        <li key={one.key} className={styles.upload}>
          <Icon name="file" />
          <span className={styles.fileName}>{one.file.name}</span>
          <span className={styles.fileSize}>{formatSize(one.file.size)}</span>
          {one.state === "uploading" && (
            <progress value={one.progress} max={1} aria-label={t("uploading", { name: one.file.name })} />
          )}
          {one.state === "failed" && (
            <span className={styles.failed} role="alert">
              {one.error || t("uploadFailed")}
              <Button size="s" onClick={() => onRetry(one)}>
                {t("retry")}
              </Button>
            </span>
          )}
          <IconButton
            size="s"
            label={t("removeFile", { name: one.file.name })}
            icon={<Icon name="close" size={14} />}
            onClick={() => onRemove(one.key)}
          />
        </li>
      ))}
    </ul>
  );
}
