// What may be spent and what is spent of it, and setting that.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { useMay } from "~/api/access";
import { type Period, useSetBudget } from "~/api/actions";
import type { Schemas } from "~/api/client";
import { useBudgets } from "~/api/queries";
import {
  Button,
  Dialog,
  DialogActions,
  ErrorNote,
  formatCount,
  formatMoney,
  Input,
  Loaded,
  markEstimate,
  Panel,
  Select,
} from "~/ui";
import { part } from "./days";
import styles from "./usage.module.css";

type Budget = Schemas["BudgetView"];
type Agent = Schemas["AgentView"];

const NO_BOUND = "none";

export function Budgets({ agent, agents }: { agent?: string | undefined; agents: readonly Agent[] }) {
  const { t } = useTranslation("usage");
  const query = useBudgets(agent);
  const [edited, setEdited] = useState<Edited | null>(null);
  const first = agent ?? agents[0]?.id;
  const mayControl = useMay("control");
  return (
    <Panel
      title={t("budgets")}
      actions={
        mayControl && first !== undefined && (
          <Button size="s" onClick={() => setEdited({ agent: first, period: "total" })}>
            {t("setBudget")}
          </Button>
        )
      }
    >
      <Loaded query={query}>
        {(budgets) =>
          budgets.length ? (
            <ul className={styles.budgets}>
              {budgets.map((budget) => (
                <OneBudget
                  key={`${budget.scope} ${budget.agent} ${budget.key} ${budget.period}`}
                  budget={budget}
                  onEdit={mayControl ? () => setEdited(editedOf(budget)) : null}
                />
              ))}
            </ul>
          ) : (
            <p className={styles.none}>{t("noBudgetsAbout")}</p>
          )
        }
      </Loaded>
      {edited && (
        <EditBudget
          key={`${edited.agent} ${edited.trigger} ${edited.period}`}
          first={edited}
          agents={agents}
          onClose={() => setEdited(null)}
        />
      )}
    </Panel>
  );
}

interface Edited {
  agent: string;
  trigger?: string;
  name?: string;
  period: Period;
  usd?: number | null;
  tokens?: number | null;
  isOwn?: boolean;
}

const editedOf = (budget: Budget): Edited => ({
  agent: budget.agent,
  ...(budget.scope === "trigger" ? { trigger: budget.key, name: budget.name } : {}),
  period: budget.period,
  usd: budget.usd,
  tokens: budget.tokens,
  isOwn: budget.is_own,
});

function OneBudget({ budget, onEdit }: { budget: Budget; onEdit: (() => void) | null }) {
  const { t } = useTranslation("usage");
  const spentUsd = markEstimate(formatMoney(budget.spent_usd), budget.is_estimate);
  const spentTokens = markEstimate(formatCount(budget.spent_tokens), budget.is_estimate);
  const ofUsd = part(budget.spent_usd, budget.usd);
  const ofTokens = part(budget.spent_tokens, budget.tokens);
  const share = Math.max(ofUsd ?? 0, ofTokens ?? 0);
  const isBound = ofUsd !== null || ofTokens !== null;
  const name = budget.scope === "agent" ? budget.agent_name : `${budget.agent_name} · ${t(`scope_${budget.scope}`)} ${budget.name}`;
  return (
    <li className={styles.budget}>
      <div className={styles.budgetHead}>
        <strong>{name}</strong>
        <span>{t(`period_${budget.period}`)}</span>
        {!budget.is_own && budget.scope !== "run" && <span>{t("ofSettings")}</span>}
        {budget.scope !== "run" && onEdit && (
          <Button size="s" look="bare" onClick={onEdit} aria-label={t("change", { name })}>
            {t("changeShort")}
          </Button>
        )}
      </div>
      <progress
        className={styles.meter}
        data-tone={share >= 1 ? "bad" : share >= 0.8 ? "ask" : "good"}
        max={1}
        value={share}
        aria-label={t("spentOf", { name })}
      />
      <p className={styles.budgetSums}>
        {budget.usd !== null && (
          <span>
            {t("of", { spent: spentUsd, limit: formatMoney(budget.usd) })}
          </span>
        )}
        {budget.tokens !== null && (
          <span>
            {t("ofTokens", {
              spent: spentTokens,
              limit: formatCount(budget.tokens),
            })}
          </span>
        )}
        {!isBound && <span>{t("unbound", { spent: spentUsd })}</span>}
      </p>
    </li>
  );
}

interface EditBudgetProps {
  first: Edited;
  agents: readonly Agent[];
  onClose: () => void;
}

function EditBudget({ first, agents, onClose }: EditBudgetProps) {
  const { t } = useTranslation("usage");
  const { t: common } = useTranslation("common");
  const [agent, setAgent] = useState(first.agent);
  const [period, setPeriod] = useState<Period>(first.period);
  const [usd, setUsd] = useState(first.usd == null ? "" : String(first.usd));
  const [tokens, setTokens] = useState(first.tokens == null ? "" : String(first.tokens));
  const save = useSetBudget(agent, { onSuccess: onClose, onError: () => undefined });
  const about = { period, ...(first.trigger ? { trigger: first.trigger } : {}) };
  const limits = {
    usd: usd.trim() === "" ? NO_BOUND : Number(usd),
    tokens: tokens.trim() === "" ? NO_BOUND : Number(tokens),
  } as Schemas["SetBudgetRequest"];
  const isWrong = [usd, tokens].some((text) => text.trim() !== "" && !(Number(text) >= 0));
  return (
    <Dialog isOpen onClose={onClose} title={t("setBudget")} about={t("budgetAbout")}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (!isWrong) save.act({ ...about, limits });
        }}
      >
        {first.trigger ? (
          <p>{t("ofTrigger", { name: first.name })}</p>
        ) : (
          <Select label={t("agent")} value={agent} onChange={(event) => setAgent(event.target.value)}>
            {agents.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </Select>
        )}
        <Select
          label={t("period")}
          value={period}
          onChange={(event) => setPeriod(event.target.value as Period)}
        >
          <option value="total">{t("period_total")}</option>
          <option value="day">{t("period_day")}</option>
        </Select>
        <Input
          label={t("dollars")}
          inputMode="decimal"
          placeholder={t("noBound")}
          value={usd}
          onChange={(event) => setUsd(event.target.value)}
        />
        <Input
          label={t("tokens")}
          inputMode="numeric"
          placeholder={t("noBound")}
          value={tokens}
          onChange={(event) => setTokens(event.target.value)}
        />
        {save.error && <ErrorNote error={save.error} />}
        <DialogActions>
          {first.isOwn && (
            <Button onClick={() => save.act({ ...about, limits: null })} isBusy={save.isPending}>
              {t("backToSettings")}
            </Button>
          )}
          <Button onClick={onClose}>{common("cancel")}</Button>
          <Button type="submit" look="main" isBusy={save.isPending} disabled={isWrong}>
            {common("save")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
