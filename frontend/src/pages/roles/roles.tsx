// The roles of the team as a form: checked while one types, written to agents.yaml if they can work.
import { type FormEvent, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useBlocker } from "react-router";

import type { ApiError } from "~/api/client";
import { useMay } from "~/api/access";
import { type RoleTeam, useSaveRoles, useRolesCheck, useRoles } from "~/api/roles";
import { useSettled } from "~/ui";
import { Button, Confirm, ErrorNote, Icon, Input, Loaded, Page, Panel, paths, Select, toast } from "~/ui";
import { draftOf, isSame, nameProblem, newRole, problemsByField, type RoleDraft, sectionOf, type RolesDraft } from "./draft";
import { OneRole } from "./OneRole";
import { spoken } from "./tasks";
import { Problems } from "./TaskFields";
import styles from "./roles.module.css";

const PAUSE_MILLISECONDS = 350;

export default function Roles() {
  const { t } = useTranslation("roles");
  const roles = useRoles();
  const mayWrite = useMay("control");
  const [reads, setReads] = useState(0);
  const readAgain = () => void roles.refetch().then(() => setReads((known) => known + 1));
  return (
    <Page
      title={t("rolesTitle")}
      actions={
        <Link to={paths.studio()} className={styles.link}>
          <Icon name="team" />
          {t("title")}
        </Link>
      }
    >
      <Loaded query={roles} lines={8}>
        {(team) =>
          team.roles.length ? (
            <Form key={reads} stored={team} mayWrite={mayWrite} onReadAgain={readAgain} />
          ) : (
            <>
              <Problems problems={team.problems} />
              <p>
                <Link to={paths.settings("agents.yaml")}>agents.yaml</Link>
              </p>
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

interface FormProps {
  stored: RoleTeam;
  mayWrite: boolean;
  onReadAgain: () => void;
}

function Form({ stored, mayWrite, onReadAgain }: FormProps) {
  const { t } = useTranslation("roles");
  // What it was read as stays the base, whatever is read meanwhile: the etag refuses to overwrite.
  const [base, setBase] = useState(stored);
  const [draft, setDraft] = useState(() => draftOf(stored));
  const [problem, setProblem] = useState<ApiError | null>(null);
  const settled = useSettled(JSON.stringify(sectionOf(draft)), PAUSE_MILLISECONDS);
  const check = useRolesCheck({ section: JSON.parse(settled) as Record<string, unknown>, named_only: true });
  const isChanged = !isSame(draft, draftOf(base));
  const isChecked = settled === JSON.stringify(sectionOf(draft)) && !check.isPlaceholderData && !check.isFetching;
  const problems = check.data?.problems ?? [];
  const save = useSaveRoles({
    onSuccess: (team) => {
      setBase(team);
      setDraft(draftOf(team));
      setProblem(null);
      toast({ title: t("written"), tone: "good" });
    },
    onError: setProblem,
  });
  const canWrite = mayWrite && isChanged && isChecked && check.data !== undefined && !problems.length;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (canWrite && !save.isPending) save.act({ etag: base.etag, section: sectionOf(draft) });
  };
  const put = (part: Partial<RolesDraft>) => setDraft((known) => ({ ...known, ...part }));
  return (
    <form className={styles.start} onSubmit={submit} aria-label={t("rolesTitle")}>
      <Leaving isOn={isChanged && !save.isPending} />
      <div className={styles.startMain}>
        <p className={styles.quiet}>{t("rolesAbout")}</p>
        <Fields draft={draft} put={put} problems={problemsByField(problems)} team={check.data} />
      </div>
      <aside className={styles.startSide} aria-label={t("check")}>
        <Panel title={t("check")}>
          <p className={isChanged && problems.length === 0 ? styles.good : styles.quiet} role="status">
            {!isChanged ? t("noChanges") : !isChecked ? t("checking") : t(problems.length ? "cannotWrite" : "canWrite")}
          </p>
          {problems.length > 0 && <Problems problems={problems} />}
        </Panel>
        {check.error && <ErrorNote error={check.error} />}
        {problem?.status === 412 ? (
          <div className={styles.conflict} role="alert">
            <p>{t("changedSince")}</p>
            <Button size="s" onClick={onReadAgain}>
              {t("readAgain")}
            </Button>
          </div>
        ) : (
          problem && <ErrorNote error={problem} />
        )}
        {mayWrite ? (
          <div className={styles.formFoot}>
            <Button look="main" type="submit" disabled={!canWrite} isBusy={save.isPending}>
              {t("write")}
            </Button>
            <Button look="bare" disabled={!isChanged} onClick={() => setDraft(draftOf(base))}>
              {t("discard")}
            </Button>
          </div>
        ) : (
          <p className={styles.notice}>{t("mayOnlyLook")}</p>
        )}
      </aside>
    </form>
  );
}

interface FieldsProps {
  draft: RolesDraft;
  put: (part: Partial<RolesDraft>) => void;
  problems: ReadonlyMap<string, string>;
  /** The team as it was checked last: what keeps its roles from work, and who takes their place. */
  team: RoleTeam | undefined;
}

function Fields({ draft, put, problems, team }: FieldsProps) {
  const { t } = useTranslation("roles");
  const number = (field: "maxTurns" | "repetitions" | "transcriptTurns", name: string, label: string, hint?: string) => (
    <Input
      label={label}
      hint={hint}
      inputMode="numeric"
      problem={problems.get(name)}
      value={draft[field]}
      onChange={(event) => put({ [field]: event.target.value })}
    />
  );
  const change = (name: string, role: RoleDraft | null) =>
    put({ roles: draft.roles.flatMap((one) => (one.name !== name ? [one] : role ? [role] : [])) });
  return (
    <>
      <Panel title={t("bounds")}>
        <div className={styles.pair}>
          <Select
            label={t("leadRole")}
            hint={t("leadHint")}
            problem={problems.get("lead_role")}
            value={draft.lead}
            onChange={(event) => put({ lead: event.target.value })}
          >
            {draft.roles.some((role) => role.name === draft.lead) || <option value={draft.lead}>{draft.lead}</option>}
            {draft.roles.map((role) => (
              <option key={role.name} value={role.name}>
                {spoken(role.name)}
              </option>
            ))}
          </Select>
          {number("maxTurns", "max_turns", t("most"))}
          {number("repetitions", "repetitions", t("repetitions"), t("repetitionsHint"))}
          {number("transcriptTurns", "transcript_turns", t("transcriptTurns"), t("transcriptTurnsHint"))}
        </div>
      </Panel>
      {draft.roles.map((role) => (
        <OneRole
          key={role.name}
          role={role}
          isLead={role.name === draft.lead}
          problems={problems}
          note={team?.roles.find((one) => one.name === role.name)?.problem ?? ""}
          onChange={(changed) => change(role.name, changed)}
        />
      ))}
      <AddRole draft={draft} onAdd={(name) => put({ roles: [...draft.roles, newRole(name)] })} />
    </>
  );
}

function AddRole({ draft, onAdd }: { draft: RolesDraft; onAdd: (name: string) => void }) {
  const { t } = useTranslation("roles");
  const [name, setName] = useState("");
  const wrong = nameProblem(name, draft);
  const add = () => {
    if (wrong) return;
    onAdd(name);
    setName("");
  };
  return (
    <div className={styles.add}>
      <Input
        label={t("addRoleName")}
        hint={t("addRoleHint")}
        problem={name && wrong ? t(`name_${wrong}`) : undefined}
        spellCheck={false}
        autoComplete="off"
        value={name}
        onChange={(event) => setName(event.target.value.trim())}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          add();
        }}
      />
      <Button icon={<Icon name="plus" />} disabled={wrong !== null} onClick={add}>
        {t("addRole")}
      </Button>
    </div>
  );
}

/** Asks before what is not written is left. */
function Leaving({ isOn }: { isOn: boolean }) {
  const { t } = useTranslation("roles");
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => isOn && currentLocation.pathname !== nextLocation.pathname,
  );
  useEffect(() => {
    if (!isOn) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isOn]);
  return (
    <Confirm
      isOpen={blocker.state === "blocked"}
      onClose={() => blocker.reset?.()}
      title={t("leaveTitle")}
      about={t("leaveAbout")}
      act={t("leave")}
      onConfirm={() => blocker.proceed?.()}
    />
  );
}
