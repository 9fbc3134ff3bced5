// What can be done with an agent: steering, saving what it made, its logs, putting it away, deleting it.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMatch, useNavigate } from "react-router";

import { useMay } from "~/api/access";
import { useArchiveAgent, useDeleteAgent, useSteerAgent } from "~/api/actions";
import { resultZipUrl } from "~/api/delivered";
import { asMarkdown, readTranscript } from "~/api/transcript";
import {
  Check, Confirm, formatSize, Icon, IconButton, Menu, type MenuItem, paths, saveFrom, saveText, toast,
} from "~/ui";
import styles from "./TopBar.module.css";

const COORDINATOR = "coordinator";
const ENDED = new Set(["completed", "failed", "stopped"]);

export interface Listed {
  id: string;
  name: string;
  status: string;
  run: string | null;
}

/** Save the whole conversation of an entity as a Markdown file. */
export function useSaveTranscript(): (agent: string, entity: string) => void {
  return (agent, entity) =>
    void readTranscript(agent, entity).then(
      (entries) => saveText(asMarkdown(`${agent}/${entity}`, entries), `${agent}-${entity}.md`, "text/markdown"),
      (error: Error) => toast({ title: error.message, tone: "bad", seconds: 12 }),
    );
}

interface AgentMenuProps {
  agent: Listed;
  label: string;
  size?: "s" | "m";
}

export function AgentMenu({ agent, label, size = "m" }: AgentMenuProps) {
  const { t } = useTranslation("agents");
  const [asked, setAsked] = useState<"archive" | "delete" | null>(null);
  const navigate = useNavigate();
  const saveTranscript = useSaveTranscript();
  const steer = useSteerAgent(agent.id);
  const mayControl = useMay("control");
  const { id, status, run } = agent;
  const isHeld = status === "paused" || status === "stopped";
  const reading: MenuItem[] = [
    ...(run
      ? [{ key: "save", icon: "download" as const, label: t("saveResult"), onSelect: () => saveFrom(resultZipUrl(id, run)) }]
      : []),
    { key: "plan", icon: "board", label: t("planOfRun"), onSelect: () => void navigate(paths.plans(id)) },
    { key: "transcript", icon: "chat", label: t("saveTranscript"), onSelect: () => saveTranscript(id, COORDINATOR) },
  ];
  const steering: (MenuItem | null)[] = [
    isHeld
      ? { key: "resume", icon: "play", label: t("resume"), onSelect: () => steer.act("resume") }
      : { key: "pause", icon: "pause", label: t("pause"), onSelect: () => steer.act("pause"), isDisabled: ENDED.has(status) },
    { key: "stop", icon: "stop", label: t("stop"), onSelect: () => steer.act("stop"), isDisabled: status === "stopped" },
    null,
  ];
  const leaving: (MenuItem | null)[] = [
    { key: "logs", icon: "events", label: t("logs"), onSelect: () => void navigate(paths.admin("logs", { entity: id })) },
    null,
    { key: "archive", icon: "folder", label: t("archive"), onSelect: () => setAsked("archive"), isDangerous: true },
    { key: "delete", icon: "trash", label: t("deleteIt"), onSelect: () => setAsked("delete"), isDangerous: true },
  ];
  return (
    <>
      <Menu
        trigger={<IconButton size={size} label={label} icon={<Icon name="more" />} />}
        items={mayControl ? [...steering, ...reading, ...leaving] : reading}
      />
      {asked === "archive" && <Archive agent={agent} onClose={() => setAsked(null)} />}
      {asked === "delete" && <Delete agent={agent} isLive onClose={() => setAsked(null)} />}
    </>
  );
}

interface AskedProps {
  agent: Listed;
  onClose: () => void;
}

/** Leave the pages of an agent that is gone. */
function useLeave(id: string): () => void {
  const navigate = useNavigate();
  const shown = useMatch("/agents/:agent/*")?.params.agent;
  return () => {
    if (shown === id) void navigate(paths.home);
  };
}

function Archive({ agent: { id, name }, onClose }: AskedProps) {
  const { t } = useTranslation("agents");
  const leave = useLeave(id);
  const archive = useArchiveAgent({
    onSuccess: () => {
      onClose();
      leave();
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={t("archiveTitle", { name })}
      about={t("archiveAbout")}
      act={t("archive")}
      onConfirm={() => archive.act(id)}
      isBusy={archive.isPending}
    />
  );
}

/** Asks before an agent of the home (`isLive`) or of the archive is deleted for good. */
export function Delete({ agent, isLive, onClose }: AskedProps & { isLive: boolean }) {
  const { t } = useTranslation("agents");
  const [isForgotten, setForgotten] = useState(false);
  const { id, name, status } = agent;
  const leave = useLeave(id);
  const remove = useDeleteAgent({
    onSuccess: ({ freed_bytes, forgotten }) => {
      onClose();
      leave();
      const about = forgotten ? t("forgotten", { count: forgotten }) : "";
      toast({ title: t("deleted", { name, size: formatSize(freed_bytes) }), about, tone: "good" });
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={t("deleteTitle", { name })}
      about={
        <>
          {t("deleteAbout", { id })}
          {isLive && !ENDED.has(status) && <strong className={styles.atWork}> {t("deleteAtWork")}</strong>}
        </>
      }
      act={t("delete")}
      onConfirm={() => remove.act({ agent: id, isLive, forget: isForgotten })}
      isBusy={remove.isPending}
    >
      <Check label={t("forget")} checked={isForgotten} onChange={(event) => setForgotten(event.target.checked)} />
    </Confirm>
  );
}
