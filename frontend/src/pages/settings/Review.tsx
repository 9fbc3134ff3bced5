// What would be written, before it is: the difference, what is wrong, when it counts.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { ApiError } from "~/api/client";
import {
  type SettingsCheck,
  type SettingsContent,
  type SettingsEdit,
  useSaveSettings,
} from "~/api/system";
import { Button, Dialog, DialogActions, DiffView, ErrorNote, Skeleton, toast } from "~/ui";
import { Problems } from "./TextEditor";
import styles from "./settings.module.css";

const CHANGED_MEANWHILE = 412;

interface ReviewProps {
  content: SettingsContent;
  check: SettingsCheck | undefined;
  error: unknown;
  edit: SettingsEdit | null;
  onSaved: () => Promise<void>;
  onRefetch: () => Promise<unknown>;
  onClose: () => void;
}

export function Review({ content, check, error, edit, onSaved, onRefetch, onClose }: ReviewProps) {
  const { t } = useTranslation("settings");
  const { t: common } = useTranslation("common");
  const [isConflict, setConflict] = useState(false);
  const save = useSaveSettings({
    onSuccess: (saved) => {
      toast({ title: t("saved", { file: saved.name }), about: t("counts", { when: saved.takes_effect }), tone: "good" });
      void onSaved();
    },
    onError: (refusal) => setConflict(refusal.status === CHANGED_MEANWHILE),
  });
  const look = async () => {
    await onRefetch();
    save.reset();
    setConflict(false);
  };
  const isWrong = !check || check.problems.length > 0;
  return (
    <Dialog isOpen isWide onClose={onClose} title={t("reviewOf", { file: content.name })} about={t("counts", { when: content.takes_effect })}>
      <div className={styles.review}>
        {check ? (
          <DiffView before={content.text} after={check.text} names={[t("now"), t("thereafter")]} />
        ) : error ? (
          <ErrorNote error={error} />
        ) : (
          <Skeleton lines={4} />
        )}
        {check && <Problems problems={check.problems} />}
        {isConflict ? (
          <div className={styles.conflict} role="alert">
            <p>{t("conflict", { file: content.name })}</p>
            <Button onClick={() => void look()}>{t("lookAgain")}</Button>
          </div>
        ) : (
          save.error instanceof ApiError && <ErrorNote error={save.error} />
        )}
      </div>
      <DialogActions>
        <Button onClick={onClose}>{common("cancel")}</Button>
        <Button
          look="main"
          disabled={isWrong || isConflict || !edit}
          isBusy={save.isPending}
          onClick={() => edit && save.act({ file: content.name, etag: content.etag, edit })}
        >
          {common("save")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
