// Below the turns: the next task, or a message to the roles while they work.
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";

import { useBeginRun, useSend } from "~/api/actions";
import type { Schemas } from "~/api/client";
import { Button, Icon, Input, toast } from "~/ui";
import { taskOf } from "./draft";
import { earlierOf } from "./tasks";
import { TaskFields, useTaskDraft } from "./TaskFields";
import styles from "./roles.module.css";

interface ComposerProps {
  agent: Schemas["AgentView"];
  tasks: readonly Schemas["RunView"][];
  onStarted: () => void;
}

export function Composer({ agent, tasks, onStarted }: ComposerProps) {
  const isAtWork = tasks.find((task) => task.id === agent.run)?.status === "running";
  return (
    <div className={styles.composer}>
      {isAtWork ? <Say agent={agent.id} /> : <Next agent={agent} tasks={tasks} onStarted={onStarted} />}
    </div>
  );
}

function Next({ agent, tasks, onStarted }: ComposerProps) {
  const { t } = useTranslation("roles");
  const { draft, put, team } = useTaskDraft(agent.worker_model);
  const begin = useBeginRun(agent.id, {
    onSuccess: () => {
      put({ task: "" });
      onStarted();
    },
    onError: () => undefined,
  });
  return (
    <TaskFields
      label={t("nextTask")}
      draft={draft}
      put={put}
      team={team}
      error={begin.error}
      isBusy={begin.isPending}
      onStart={() => begin.act(taskOf(draft, earlierOf(tasks)))}
    />
  );
}

function Say({ agent }: { agent: string }) {
  const { t } = useTranslation("roles");
  const [text, setText] = useState("");
  const send = useSend(agent, {
    onSuccess: () => {
      setText("");
      toast({ title: t("sent"), tone: "good" });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() && !send.isPending) send.act({ message: text.trim() });
  };
  return (
    <form className={styles.say} onSubmit={submit}>
      <Input
        label={t("say")}
        isLabelUnseen
        placeholder={t("say")}
        hint={t("sayHint")}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" icon={<Icon name="send" />} disabled={!text.trim()} isBusy={send.isPending}>
        {t("send")}
      </Button>
    </form>
  );
}
