// What can be done with the knowledge database as a whole: a node added, a project scanned, all exported, old nodes removed.
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";

import { useMay } from "~/api/access";
import { type KnowledgeKind, exportUrl, type Pruned, usePruneKnowledge, useScanProject, vaultUrl } from "~/api/knowledge";
import {
  Button, Dialog, DialogActions, ErrorNote, Icon, IconButton, Input, Menu, type MenuItem, saveFrom, toast,
} from "~/ui";
import { secondsOf } from "~/ui/durations";
import { Add } from "./Add";
import styles from "./knowledge.module.css";

export function Upkeep({ kind }: { kind: KnowledgeKind | "" }) {
  const { t } = useTranslation("knowledge");
  const [opened, setOpened] = useState<"add" | "scan" | "prune" | null>(null);
  const mayControl = useMay("control");
  const close = () => setOpened(null);
  const name = kind ? t(`kind_${kind}`) : "";
  const items: (MenuItem | null)[] = [
    {
      key: "export",
      icon: "download",
      label: kind ? t("exportKind", { kind: name }) : t("export"),
      onSelect: () => saveFrom(exportUrl(kind), "knowledge.jsonl"),
    },
    {
      key: "obsidian",
      icon: "download",
      label: kind ? t("obsidianKind", { kind: name }) : t("obsidian"),
      onSelect: () => saveFrom(vaultUrl(kind), "agiraph-knowledge.zip"),
    },
  ];
  if (mayControl) {
    items.unshift({ key: "scan", icon: "folder", label: t("scan"), onSelect: () => setOpened("scan") });
    items.push(null, { key: "prune", icon: "trash", label: t("prune"), isDangerous: true, onSelect: () => setOpened("prune") });
  }
  return (
    <>
      {mayControl && (
        <Button icon={<Icon name="plus" />} onClick={() => setOpened("add")}>
          {t("add")}
        </Button>
      )}
      <Menu trigger={<IconButton label={t("acts")} icon={<Icon name="more" />} />} items={items} />
      {opened === "add" && <Add onClose={close} />}
      {opened === "scan" && <Scan onClose={close} />}
      {opened === "prune" && <Prune onClose={close} />}
    </>
  );
}

/** Asks for a folder, and has the home read what it is made of. */
function Scan({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation("knowledge");
  const [path, setPath] = useState("");
  const scan = useScanProject({
    onSuccess: ({ project_id, files, new: made, changed, gone }) => {
      onClose();
      toast({ title: t("scanned", { project: project_id, files }), about: t("scannedAbout", { made, changed, gone }), tone: "good" });
    },
    onError: () => undefined,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    scan.act(path.trim());
  };
  return (
    <Dialog isOpen onClose={onClose} title={t("scan")} about={t("scanAbout")}>
      <form className={styles.form} onSubmit={submit}>
        <Input
          label={t("folder")}
          hint={t("folderHint")}
          placeholder="/home/me/src/shop"
          spellCheck={false}
          value={path}
          onChange={(event) => setPath(event.target.value)}
        />
        {scan.error && <ErrorNote error={scan.error} />}
        <DialogActions>
          <Button onClick={onClose}>{t("cancel")}</Button>
          <Button type="submit" look="main" disabled={!path.trim()} isBusy={scan.isPending}>
            {t("scanAct")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

const PERCENT = 100;

/** Shows what is old and worth little, and removes it once the person has agreed. */
function Prune({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation("knowledge");
  const [age, setAge] = useState("180d");
  const [below, setBelow] = useState("30");
  const [found, setFound] = useState<Pruned | null>(null);
  const seconds = secondsOf(age);
  const worth = Number(below) / PERCENT;
  const isWorth = below.trim() !== "" && worth >= 0 && worth <= 1;
  const prune = usePruneKnowledge({
    onSuccess: (pruned) => {
      if (pruned.is_dry_run) {
        setFound(pruned);
        return;
      }
      onClose();
      toast({ title: t("pruned", { count: pruned.nodes_pruned }), tone: "good" });
    },
    onError: () => undefined,
  });
  const act = (isTrial: boolean) =>
    seconds !== null && prune.act({ older_than_seconds: seconds, below: worth, keep: ["preference", "project"], dry_run: isTrial });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    act(true);
  };
  return (
    <Dialog isOpen onClose={onClose} title={t("prune")} about={t("pruneAbout")}>
      <form className={styles.form} onSubmit={submit}>
        <Input
          label={t("olderThan")}
          problem={seconds === null ? t("notDuration") : undefined}
          value={age}
          onChange={(event) => {
            setAge(event.target.value);
            setFound(null);
          }}
        />
        <Input
          label={t("below")}
          hint={t("belowHint")}
          inputMode="decimal"
          problem={isWorth ? undefined : t("notPercent")}
          value={below}
          onChange={(event) => {
            setBelow(event.target.value);
            setFound(null);
          }}
        />
        {prune.error && <ErrorNote error={prune.error} />}
        {found && (
          <div role="status">
            <p>{t("wouldPrune", { count: found.nodes_pruned })}</p>
            <ul className={styles.examples}>
              {found.examples.map((one) => (
                <li key={one.id}>
                  {t(`kind_${one.kind}`)}: {one.title}
                </li>
              ))}
            </ul>
          </div>
        )}
        <DialogActions>
          <Button type="submit" disabled={seconds === null || !isWorth} isBusy={prune.isPending}>
            {t("showThem")}
          </Button>
          {found !== null && found.nodes_pruned > 0 && (
            <Button look="danger" isBusy={prune.isPending} onClick={() => act(false)}>
              {t("pruneAct", { count: found.nodes_pruned })}
            </Button>
          )}
        </DialogActions>
      </form>
    </Dialog>
  );
}
