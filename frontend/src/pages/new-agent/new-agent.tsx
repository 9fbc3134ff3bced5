// A new agent: its goal and terms, checked by the gateway while one types, before anything starts.
import { type FormEvent, useEffect, useState } from "react";
import { Trans, useTranslation } from "react-i18next";
import { Link, useNavigate } from "react-router";

import { includes, useWhoAmI } from "~/api/access";
import { useCreateAgent } from "~/api/actions";
import { Button, Check, Empty, ErrorNote, Input, Page, Panel, paths, Select, TextArea } from "~/ui";
import { Findings } from "./Findings";
import styles from "./new-agent.module.css";
import { BLANK, type Draft, keepDraft, keptDraft, notNumbers, requestOf } from "./draft";
import { ModelInput, PlanFile, Planning } from "./inputs";
import { useAgentCheck } from "./useAgentCheck";

export default function NewAgent() {
  const { t } = useTranslation("newAgent");
  const { data: me } = useWhoAmI();
  if (me === undefined) return null;
  return includes(me.scope, "control") ? (
    <Form />
  ) : (
    <Page title={t("title")}>
      <Empty icon="plus" title={t("mayOnlyLook")} />
    </Page>
  );
}

function Form() {
  const { t } = useTranslation("newAgent");
  const navigate = useNavigate();
  const [draft, setDraft] = useState(keptDraft);
  useEffect(() => keepDraft(draft), [draft]);
  const put = (part: Partial<Draft>) => setDraft((known) => ({ ...known, ...part }));
  const check = useAgentCheck(draft);
  const wrong = notNumbers(draft);
  const create = useCreateAgent({
    onSuccess: ({ id }) => {
      keepDraft(BLANK);
      void navigate(paths.agent(id));
    },
    onError: () => undefined,
  });
  const problem = (field: string) =>
    create.error?.ofField(field) ??
    check.data?.problems.find((one) => one.field === field)?.detail;
  const amount = (field: (typeof wrong)[number]) =>
    wrong.includes(field) ? t("notNumber") : undefined;
  const isPossible = draft.goal.trim() !== "" && !wrong.length && check.data?.is_possible !== false;
  const isDone = create.isPending || create.isSuccess;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isPossible && !isDone) create.act(requestOf(draft));
  };

  return (
    <Page title={t("title")}>
      <form className={styles.form} onSubmit={submit}>
        <div className={styles.fields}>
          <TextArea
            label={t("goal")}
            hint={t("goalHint")}
            placeholder={t("goalExample")}
            rows={5}
            required
            problem={draft.goal ? problem("goal") : undefined}
            value={draft.goal}
            onChange={(event) => put({ goal: event.target.value })}
          />
          <div className={styles.pair}>
            <Input
              label={t("name")}
              hint={t("nameHint")}
              maxLength={64}
              placeholder={check.data?.name ?? ""}
              problem={problem("name")}
              value={draft.name}
              onChange={(event) => put({ name: event.target.value })}
            />
            <Input
              label={t("input")}
              hint={t("inputHint")}
              placeholder="/home/me/offers"
              spellCheck={false}
              problem={problem("input")}
              value={draft.input}
              onChange={(event) => put({ input: event.target.value })}
            />
          </div>
          <div>
            <Panel title={t("models")}>
              <div className={styles.pair}>
                <ModelInput
                  label={t("model")}
                  hint={t("modelHint")}
                  placeholder={check.data?.model ?? ""}
                  problem={problem("model")}
                  value={draft.model}
                  onChange={(model) => put({ model })}
                />
                <ModelInput
                  label={t("workerModel")}
                  hint={t("workerModelHint")}
                  placeholder={check.data?.worker_model ?? ""}
                  problem={problem("worker_model")}
                  value={draft.workerModel}
                  onChange={(workerModel) => put({ workerModel })}
                />
              </div>
            </Panel>
            <Panel title={t("budget")}>
              <div className={styles.triple}>
                <Input
                  label={t("usd")}
                  inputMode="decimal"
                  placeholder={t("none")}
                  problem={amount("usd") ?? problem("budget_usd")}
                  value={draft.usd}
                  onChange={(event) => put({ usd: event.target.value })}
                />
                <Input
                  label={t("tokens")}
                  inputMode="numeric"
                  placeholder={t("none")}
                  problem={amount("tokens") ?? problem("budget_tokens")}
                  value={draft.tokens}
                  onChange={(event) => put({ tokens: event.target.value })}
                />
                <Select
                  label={t("whenSpent")}
                  value={draft.whenSpent}
                  onChange={(event) => put({ whenSpent: event.target.value as Draft["whenSpent"] })}
                >
                  <option value="">{t("asSettings")}</option>
                  <option value="ask">{t("ask")}</option>
                  <option value="stop">{t("stop")}</option>
                </Select>
              </div>
            </Panel>
            <Panel title={t("work")}>
              <div className={styles.stack}>
                <div className={styles.pair}>
                  <Select
                    label={t("mode")}
                    value={draft.mode}
                    onChange={(event) => put({ mode: event.target.value as Draft["mode"] })}
                  >
                    <option value="finite">{t("finite")}</option>
                    <option value="infinite">{t("infinite")}</option>
                  </Select>
                  {draft.mode === "infinite" && (
                    <Input
                      label={t("cycleMinutes")}
                      inputMode="decimal"
                      problem={amount("cycleMinutes") ?? problem("cycle_seconds")}
                      value={draft.cycleMinutes}
                      onChange={(event) => put({ cycleMinutes: event.target.value })}
                    />
                  )}
                </div>
                <Select
                  label={t("notes")}
                  value={draft.notes}
                  onChange={(event) => put({ notes: event.target.value as Draft["notes"] })}
                >
                  <option value="">{t("asSettings")}</option>
                  <option value="project">{t("notesProject")}</option>
                  <option value="all">{t("notesAll")}</option>
                  <option value="none">{t("notesNone")}</option>
                </Select>
                <PlanFile draft={draft} problem={problem("plan")} onChange={put} />
                {!draft.plan && <Planning draft={draft} problem={problem("planning")} onChange={put} />}
                <Check
                  label={t("record")}
                  checked={draft.isRecorded}
                  onChange={(event) => put({ isRecorded: event.target.checked })}
                />
                <p className={styles.quiet}>
                  <Trans t={t} i18nKey="approvals" components={[<Link key="link" to={paths.settings("approvals.yaml")} />]} />
                </p>
              </div>
            </Panel>
          </div>
        </div>
        <aside className={styles.side}>
          <Findings check={check} hasGoal={draft.goal.trim() !== ""} />
          {create.error && <ErrorNote error={create.error} />}
          <Button look="main" type="submit" disabled={!isPossible} isBusy={isDone}>
            {t("create")}
          </Button>
          <Button look="bare" onClick={() => setDraft(BLANK)}>
            {t("clear")}
          </Button>
        </aside>
      </form>
    </Page>
  );
}
