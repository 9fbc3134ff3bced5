// The form in which a person writes down a node for later runs.
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";

import { ADDED_KINDS, type RememberedKind, useAddKnowledgeNode } from "~/api/knowledge";
import { Button, Dialog, DialogActions, ErrorNote, Input, paths, Select, TextArea, toast } from "~/ui";
import styles from "./knowledge.module.css";

const LONGEST_TITLE = 200;
const LONGEST_TEXT = 8000;

export function Add({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation("knowledge");
  const [kind, setKind] = useState<RememberedKind>("preference");
  const [title, setTitle] = useState("");
  const [text, setText] = useState("");
  const [project, setProject] = useState("");
  const navigate = useNavigate();
  const add = useAddKnowledgeNode({
    onSuccess: ({ node }) => {
      onClose();
      void navigate(paths.knowledge(node.id));
      toast({ title: t("added", { title: node.title }), tone: "good", seconds: 3 });
    },
    onError: () => undefined,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.act({ kind, title: title.trim(), text: text.trim(), project: project.trim(), tags: [] });
  };
  return (
    <Dialog isOpen onClose={onClose} title={t("add")} about={t("addAbout")}>
      <form className={styles.form} onSubmit={submit}>
        <Select label={t("kind")} value={kind} onChange={(event) => setKind(event.target.value as RememberedKind)}>
          {ADDED_KINDS.map((one) => (
            <option key={one} value={one}>
              {t(`kind_${one}`)}
            </option>
          ))}
        </Select>
        <Input
          label={t("nodeTitle")}
          hint={t("nodeTitleHint")}
          maxLength={LONGEST_TITLE}
          value={title}
          onChange={(event) => setTitle(event.target.value)}
        />
        <TextArea
          label={t("nodeText")}
          hint={t("nodeTextHint")}
          rows={6}
          maxLength={LONGEST_TEXT}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Input
          label={t("project")}
          hint={t("projectHint")}
          spellCheck={false}
          value={project}
          onChange={(event) => setProject(event.target.value)}
        />
        {add.error && <ErrorNote error={add.error} />}
        <DialogActions>
          <Button onClick={onClose}>{t("cancel")}</Button>
          <Button type="submit" look="main" disabled={!title.trim() || !text.trim()} isBusy={add.isPending}>
            {t("addAct")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
