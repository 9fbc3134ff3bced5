// What a person can do with a node: run it again, move it, cancel it. What destroys work is asked.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { useAssignNode, useCancelNode, useRetryNode } from "~/api/actions";
import { useMay } from "~/api/access";
import { useModels, useWorkers } from "~/api/queries";
import { Button, Dialog, DialogActions, Icon, Input, Select, TextArea, toast } from "~/ui";
import { hasEnded } from "../graph";
import type { OfNode } from "./Facts";
import { modelNames } from "./models";
import styles from "./panel.module.css";

type Act = "retry" | "move" | "cancel";

export function NodeActions({ agent, node }: OfNode) {
  const { t } = useTranslation("board");
  const [act, setAct] = useState<Act | null>(null);
  if (!useMay("control")) return null;
  const isOver = hasEnded(node.status);
  const canRetry = node.status === "failed" || node.status === "completed";
  const canMove = !isOver || node.status === "failed";
  const close = () => setAct(null);
  return (
    <div className={styles.actions} role="group" aria-label={t("actions")}>
      {canRetry && (
        <Button size="s" icon={<Icon name="retry" />} onClick={() => setAct("retry")}>
          {t("retry")}
        </Button>
      )}
      {canMove && (
        <Button size="s" icon={<Icon name="user" />} onClick={() => setAct("move")}>
          {t("move")}
        </Button>
      )}
      {!isOver && (
        <Button size="s" look="danger" icon={<Icon name="stop" />} onClick={() => setAct("cancel")}>
          {t("cancel")}
        </Button>
      )}
      {act === "move" && <MoveDialog agent={agent} node={node} onClose={close} />}
      {act === "retry" && <RetryDialog agent={agent} node={node} onClose={close} />}
      {act === "cancel" && <CancelDialog agent={agent} node={node} onClose={close} />}
    </div>
  );
}

interface DialogProps extends OfNode {
  onClose: () => void;
}

function RetryDialog({ agent, node, onClose }: DialogProps) {
  const { t } = useTranslation("board");
  const action = useRetryNode(agent, told(t("retried", { name: node.name }), onClose));
  const isDone = node.status === "completed";
  return (
    <Asked
      title={t("retryTitle", { name: node.name })}
      about={t(isDone ? "retryAboutDone" : "retryAbout")}
      act={t("retry")}
      isBusy={action.isPending}
      onAct={(because) => action.act({ node: node.id, because })}
      onClose={onClose}
    />
  );
}

function CancelDialog({ agent, node, onClose }: DialogProps) {
  const { t } = useTranslation("board");
  const action = useCancelNode(agent, told(t("cancelled", { name: node.name }), onClose));
  return (
    <Asked
      title={t("cancelTitle", { name: node.name })}
      about={t("cancelAbout")}
      act={t("cancel")}
      isDangerous
      isBusy={action.isPending}
      onAct={(because) => action.act({ node: node.id, because })}
      onClose={onClose}
    />
  );
}

const told = (text: string, onClose: () => void) => ({
  onSuccess: () => {
    toast({ title: text, tone: "good" });
    onClose();
  },
});

interface AskedProps {
  title: string;
  about: string;
  act: string;
  isDangerous?: boolean;
  isBusy: boolean;
  onAct: (because: string) => void;
  onClose: () => void;
  isReady?: boolean;
  children?: React.ReactNode;
}

/** A dialog that asks for a reason, and for what else `children` ask. */
function Asked(props: AskedProps) {
  const { t } = useTranslation("board");
  const { t: common } = useTranslation("common");
  const [because, setBecause] = useState("");
  return (
    <Dialog isOpen onClose={props.onClose} title={props.title} about={props.about}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          props.onAct(because.trim());
        }}
      >
        {props.children}
        <TextArea
          label={t("because")}
          hint={t("becauseHint")}
          value={because}
          maxLength={4000}
          onChange={(event) => setBecause(event.target.value)}
        />
        <DialogActions>
          <Button onClick={props.onClose}>{common("close")}</Button>
          <Button
            type="submit"
            look={props.isDangerous ? "danger" : "main"}
            isBusy={props.isBusy}
            disabled={props.isReady === false}
          >
            {props.act}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function MoveDialog({ agent, node, onClose }: DialogProps) {
  const { t } = useTranslation("board");
  const { data: workers } = useWorkers(agent);
  const { data: models } = useModels();
  const [worker, setWorker] = useState("");
  const [model, setModel] = useState("");
  const action = useAssignNode(agent, told(t("moved", { name: node.name }), onClose));
  const isHeld = node.assigned_worker !== null && !hasEnded(node.status);
  const others = workers?.filter(
    (one) => one.status !== "stopped" && !(isHeld && one.name === node.assigned_worker),
  );
  const listed = `models-${node.id}`;
  return (
    <Asked
      title={t("moveTitle", { name: node.name })}
      about={t(isHeld ? "moveAboutHeld" : "moveAbout")}
      act={t("moveAct")}
      isBusy={action.isPending}
      isReady={worker !== "" || model.trim() !== ""}
      onAct={(because) =>
        action.act({
          node: node.id,
          because,
          ...(worker ? { worker } : {}),
          ...(model.trim() ? { model: model.trim() } : {}),
        })
      }
      onClose={onClose}
    >
      <Select label={t("worker")} value={worker} onChange={(event) => setWorker(event.target.value)}>
        <option value="">{t("anyWorker")}</option>
        {others?.map((one) => (
          <option key={one.id} value={one.id}>
            {[one.name, one.role, one.model].filter(Boolean).join(" · ")}
          </option>
        ))}
      </Select>
      <Input
        label={t("model")}
        hint={t("modelHint")}
        value={model}
        list={listed}
        onChange={(event) => setModel(event.target.value)}
      />
      <datalist id={listed}>
        {modelNames(models?.providers ?? []).map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </datalist>
    </Asked>
  );
}
