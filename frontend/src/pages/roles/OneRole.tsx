// One role of the form: its title, who does its work, and who takes their place.
import { useId } from "react";
import { useTranslation } from "react-i18next";

import { useModels } from "~/api/queries";
import { useExternalAgents } from "~/api/roles";
import { modelsOf } from "~/pages/new-agent/draft";
import { Badge, Button, Check, Icon, IconButton, Input, Panel, TextArea } from "~/ui";
import { newRole, type RoleDraft } from "./draft";
import { spoken } from "./tasks";
import styles from "./roles.module.css";

interface OneRoleProps {
  role: RoleDraft;
  isLead: boolean;
  problems: ReadonlyMap<string, string>;
  /** Why its own agent cannot work, also where a fallback takes its place. */
  note: string;
  /** Null takes it out. */
  onChange: (role: RoleDraft | null) => void;
}

export function OneRole({ role, isLead, problems, note, onChange }: OneRoleProps) {
  const { t } = useTranslation("roles");
  const said = (field: string) => problems.get(`roles.${role.name}.${field}`) ?? undefined;
  const put = (part: Partial<RoleDraft>) => onChange({ ...role, ...part });
  const name = spoken(role.name);
  return (
    <Panel
      title={
        <span className={styles.roleHead}>
          {name} {isLead && <Badge tone="accent">{t("lead")}</Badge>}
        </span>
      }
      actions={
        role.isDefault ? (
          <Button size="s" look="bare" aria-label={t("resetRole", { role: name })} title={t("stays")} onClick={() => onChange(newRole(role.name, true))}>
            {t("reset")}
          </Button>
        ) : (
          <IconButton size="s" label={t("remove", { role: name })} icon={<Icon name="trash" />} onClick={() => onChange(null)} />
        )
      }
    >
      <div className={styles.pair} role="group" aria-label={name}>
        <AgentInput
          label={t("agent")}
          placeholder={t("runModel")}
          hint={note && !said("agent") ? note : t("agentHint")}
          problem={said("agent")}
          value={role.agent}
          onChange={(agent) => put({ agent })}
        />
        <AgentInput
          label={t("fallback")}
          placeholder={t("noFallback")}
          hint={t("fallbackHint")}
          problem={said("fallback")}
          value={role.fallback}
          onChange={(fallback) => put({ fallback })}
        />
        <Input
          label={t("roleTitle")}
          problem={said("title")}
          maxLength={200}
          value={role.title}
          onChange={(event) => put({ title: event.target.value })}
        />
        <TextArea
          label={t("responsibilities")}
          problem={said("responsibilities")}
          rows={2}
          maxLength={4000}
          value={role.responsibilities}
          onChange={(event) => put({ responsibilities: event.target.value })}
        />
        <Check label={t("mayWrite")} checked={role.mayWrite} onChange={(event) => put({ mayWrite: event.target.checked })} />
      </div>
    </Panel>
  );
}

interface AgentInputProps {
  label: string;
  hint: string;
  placeholder: string;
  problem: string | undefined;
  value: string;
  onChange: (agent: string) => void;
}

/** An agent to choose or type: the external agents and models that there are, the usable first. */
function AgentInput({ onChange, ...rest }: AgentInputProps) {
  const { t } = useTranslation("roles");
  const { data: models } = useModels();
  const { data: external = [] } = useExternalAgents();
  const list = useId();
  const commands = external.map(({ name, installed, problem }) => ({ name, isUsable: installed && !problem }));
  const all = [...commands, ...modelsOf(models?.providers ?? [])];
  return (
    <div>
      <Input
        {...rest}
        list={list}
        maxLength={400}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id={list}>
        {all
          .toSorted((one, other) => Number(other.isUsable) - Number(one.isUsable))
          .map(({ name, isUsable }) => (
            <option key={name} value={name}>
              {isUsable ? name : t("notUsable", { name })}
            </option>
          ))}
      </datalist>
    </div>
  );
}
