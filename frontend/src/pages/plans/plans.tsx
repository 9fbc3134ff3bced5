// A plan file: written or read from a run, checked while one types, drawn, saved in any form, run.
import { type ChangeEvent, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate, useSearchParams } from "react-router";

import { useMay } from "~/api/access";
import { type PlanCheck, type PlanForm, planIn, useDrawnPlan, usePlanOfRun } from "~/api/plans";
import {
  Button, Empty, ErrorNote, Icon, Loaded, Menu, Page, Panel, paths, saveFrom, saveText, TextArea, toast, useSettled,
} from "~/ui";
import { BLANK, keepDraft, keptDraft } from "../new-agent/draft";
import styles from "./plans.module.css";

const PAUSE_MILLISECONDS = 400;
const SCHEMA = "/plans/schema";
const FILES: readonly [PlanForm, string, string][] = [
  ["yaml", "plan.yaml", "text/yaml"],
  ["json", "plan.json", "application/json"],
  ["svg", "plan.svg", "image/svg+xml"],
  ["mermaid", "plan.mmd", "text/plain"],
  ["dot", "plan.dot", "text/plain"],
  ["html", "plan.html", "text/html"],
  ["tree", "plan.txt", "text/plain"],
];

export default function Plans() {
  const { t } = useTranslation("plans");
  const [query] = useSearchParams();
  const agent = query.get("agent") ?? "";
  const ofRun = usePlanOfRun(agent, query.get("run") ?? undefined);
  if (!agent) return <Editor first={keptDraft().plan} />;
  return (
    <Loaded query={ofRun} lines={10}>
      {(plan) =>
        plan === null ? (
          <Page title={t("title")}>
            <Empty icon="board" title={t("noPlan")}>
              {t("noPlanAbout")}
            </Empty>
          </Page>
        ) : (
          <Editor key={agent} first={plan} />
        )
      }
    </Loaded>
  );
}

function Editor({ first }: { first: string }) {
  const { t } = useTranslation("plans");
  const navigate = useNavigate();
  const [plan, setPlan] = useState(first);
  const settled = useSettled(plan, PAUSE_MILLISECONDS);
  const drawn = useDrawnPlan(settled);
  const mayControl = useMay("control");
  const isKnown = settled === plan && plan.trim() !== "" && drawn.isSuccess && !drawn.isPlaceholderData;
  const run = () => {
    keepDraft({ ...keptDraft(), plan, planName: "plan.yaml" });
    void navigate(paths.newAgent);
  };
  const write = () => {
    keepDraft({ ...BLANK, planning: "static", isPlanOnly: true });
    void navigate(paths.newAgent);
  };
  const actions = (
    <>
      <SaveAs plan={plan} isOff={!isKnown} />
      {mayControl && (
        <>
          <Button icon={<Icon name="edit" />} onClick={write}>
            {t("write")}
          </Button>
          <Button look="main" icon={<Icon name="play" />} disabled={!isKnown} onClick={run}>
            {t("run")}
          </Button>
        </>
      )}
    </>
  );
  return (
    <Page title={t("title")} actions={actions}>
      <div className={styles.columns}>
        <div>
          <TextArea
            label={t("file")}
            hint={t("fileHint")}
            className={styles.text}
            spellCheck={false}
            rows={24}
            placeholder={t("example")}
            value={plan}
            onChange={(event) => setPlan(event.target.value)}
          />
          <div className={styles.acts}>
            <ChooseFile onText={setPlan} />
            <Button look="bare" size="s" onClick={() => saveFrom(SCHEMA, "plan.schema.json")}>
              {t("schema")}
            </Button>
          </div>
        </div>
        <Panel title={t("check")}>
          {plan.trim() === "" ? (
            <p className={styles.quiet}>{t("nothing")}</p>
          ) : drawn.error ? (
            <ErrorNote error={drawn.error} />
          ) : (
            <Loaded query={drawn}>{(found) => <Drawing found={found} />}</Loaded>
          )}
        </Panel>
      </div>
    </Page>
  );
}

/** How many nodes a plan has, and its picture. */
function Drawing({ found: { nodes, workers, text } }: { found: PlanCheck }) {
  const { t } = useTranslation("plans");
  const address = useAddress(text);
  return (
    <>
      <p role="status" className={styles.good}>
        {t("fine", { count: nodes })} {workers > 0 && t("workers", { count: workers })}
      </p>
      <div className={styles.frame} role="region" aria-label={t("drawing")} tabIndex={0}>
        {address && <img src={address} alt={t("drawing")} />}
      </div>
    </>
  );
}

/** Where the browser finds a picture that is here as text. */
function useAddress(svg: string): string {
  const [address, setAddress] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [svg]);
  return address;
}

function SaveAs({ plan, isOff }: { plan: string; isOff: boolean }) {
  const { t } = useTranslation("plans");
  const save = (form: PlanForm, name: string, type: string) =>
    void planIn(plan, form).then(
      ({ text }) => saveText(text, name, type),
      (error: Error) => toast({ title: error.message, tone: "bad", seconds: 12 }),
    );
  return (
    <Menu
      trigger={
        <Button icon={<Icon name="download" />} disabled={isOff}>
          {t("saveAs")}
        </Button>
      }
      items={FILES.map(([form, name, type]) => ({
        key: form,
        label: t(`form_${form}`),
        onSelect: () => save(form, name, type),
      }))}
    />
  );
}

function ChooseFile({ onText }: { onText: (text: string) => void }) {
  const { t } = useTranslation("plans");
  const chooser = useRef<HTMLInputElement>(null);
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    event.target.value = "";
    if (file) onText(await file.text());
  };
  return (
    <>
      <input
        ref={chooser}
        className="unseen"
        type="file"
        aria-label={t("choose")}
        accept=".yaml,.yml,.json,.md,text/*"
        tabIndex={-1}
        onChange={(event) => void read(event)}
      />
      <Button size="s" icon={<Icon name="file" />} onClick={() => chooser.current?.click()}>
        {t("choose")}
      </Button>
    </>
  );
}
