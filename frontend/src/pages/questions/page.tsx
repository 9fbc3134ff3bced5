// All questions: the open ones to be answered, what became of the others, what is allowed for always.
import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useMay } from "~/api/access";
import { useRevokeApproval } from "~/api/actions";
import type { Schemas } from "~/api/client";
import { useApprovals, useQuestions } from "~/api/queries";
import { Badge, Button, type Column, Empty, Loaded, oneLine, Page, Panel, paths, Table, Time } from "~/ui";
import { byNeed, lineOf, type Question } from "~/ui/question";
import { QuestionCard } from "~/ui/QuestionCard";
import styles from "./questions.module.css";

type Approval = Schemas["ApprovalView"];

export default function QuestionsPage() {
  const { t } = useTranslation("questions");
  return (
    <Page title={t("title")}>
      <div className={styles.page}>
        <Open />
        <Panel title={t("standing")}>
          <Standing />
        </Panel>
        <Panel title={t("earlier")}>
          <Earlier />
        </Panel>
      </div>
    </Page>
  );
}

function Open() {
  const { t } = useTranslation("questions");
  const open = useQuestions("open");
  return (
    <Loaded query={open}>
      {(all) =>
        all.length ? (
          <ul className={styles.cards} aria-label={t("open", { count: all.length })}>
            {byNeed(all).map((one) => (
              <li key={one.id}>
                <QuestionCard question={one} hasKeys={false} />
              </li>
            ))}
          </ul>
        ) : (
          <Empty icon="check" title={t("noneTitle")}>
            {t("noneAbout")}
          </Empty>
        )
      }
    </Loaded>
  );
}

type Say = TFunction<"questions">;

const standingColumns = (t: Say): Column<Approval>[] => [
  { key: "pattern", label: t("allowed"), cell: (one) => <code>{oneLine(`${one.tool} ${one.pattern}`)}</code> },
  {
    key: "agent",
    label: t("agent"),
    cell: (one) => <Link to={paths.agent(one.agent)}>{one.agent_name || one.agent}</Link>,
  },
  { key: "by", label: t("by"), cell: (one) => t("byVia", { by: one.by, via: one.via }), isMinor: true },
  { key: "at", label: t("at"), cell: (one) => <Time at={one.at} />, isMinor: true },
  { key: "act", label: "", cell: (one) => <Revoke approval={one.id} /> },
];

function Revoke({ approval }: { approval: string }) {
  const { t } = useTranslation("questions");
  const revoke = useRevokeApproval();
  if (!useMay("control")) return null;
  return (
    <Button size="s" look="danger" isBusy={revoke.isPending} onClick={() => revoke.act(approval)}>
      {t("revoke")}
    </Button>
  );
}

function Standing() {
  const { t } = useTranslation("questions");
  const approvals = useApprovals();
  const columns = standingColumns(t);
  return (
    <Loaded query={approvals}>
      {(all) =>
        all.length ? (
          <Table label={t("standing")} rows={all} rowKey={(one) => one.id} columns={columns} />
        ) : (
          <p className={styles.none}>{t("noStanding")}</p>
        )
      }
    </Loaded>
  );
}

const TONES = { answered: "good", expired: "ask", withdrawn: "quiet", open: "ask" } as const;

const earlierColumns = (t: Say): Column<Question>[] => [
  { key: "question", label: t("question"), cell: (one) => lineOf(one) },
  {
    key: "from",
    label: t("asker"),
    cell: (one) => <Link to={paths.entity(one.agent, one.from)}>{one.from}</Link>,
  },
  {
    key: "status",
    label: t("outcome"),
    cell: (one) => <Badge tone={TONES[one.status]}>{t(`status.${one.status}`)}</Badge>,
  },
  { key: "answer", label: t("answered"), cell: (one) => one.answer ?? one.default ?? "" },
  {
    key: "by",
    label: t("by"),
    cell: (one) => (one.answered_by ? t("byVia", { by: one.answered_by, via: one.answered_via ?? "" }) : ""),
    isMinor: true,
  },
  { key: "at", label: t("at"), cell: (one) => <Time at={one.answered_at ?? one.asked_at} />, isMinor: true },
];

function Earlier() {
  const { t } = useTranslation("questions");
  const query = useQuestions(null, 200);
  const columns = earlierColumns(t);
  return (
    <Loaded query={query}>
      {(all) => {
        const ended = all.filter((one) => one.status !== "open").toReversed();
        return ended.length ? (
          <Table label={t("earlier")} rows={ended} rowKey={(one) => one.id} columns={columns} />
        ) : (
          <p className={styles.none}>{t("noEarlier")}</p>
        );
      }}
    </Loaded>
  );
}
