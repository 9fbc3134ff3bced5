// How a run or node ended, in words: the cause of a failure, and what a completed run left out.
import { useTranslation } from "react-i18next";

import type { Schemas } from "~/api/client";
import styles from "./values.module.css";
import { Badge } from "./values";

export type FailureClass = NonNullable<Schemas["RunView"]["failure_class"]>;

/** The class of a failure with its meaning; nothing for a run or node that has not failed. */
export function FailureCause({ failure }: { failure: FailureClass | null }) {
  const { t } = useTranslation("outcome");
  if (failure === null) return null;
  return (
    <p className={styles.outcome}>
      <span className="unseen">{t("cause")}: </span>
      <Badge tone="bad">{t(`class_${failure}`)}</Badge> <span>{t(`about_${failure}`)}</span>
    </p>
  );
}

/** The class of a failure in a narrow place; its meaning is the tooltip. */
export function FailureBadge({ failure }: { failure: FailureClass | null }) {
  const { t } = useTranslation("outcome");
  if (failure === null) return null;
  return (
    <span title={t(`about_${failure}`)}>
      <Badge tone="bad">{t(`class_${failure}`)}</Badge>
    </span>
  );
}

/** The nodes of its plan that a completed run did not complete. */
export function Incomplete({ nodes, isShort = false }: { nodes: readonly string[]; isShort?: boolean }) {
  const { t } = useTranslation("outcome");
  if (!nodes.length) return null;
  const whole = t("incomplete", { count: nodes.length, names: nodes.join(", ") });
  if (!isShort) return <p className={styles.outcome}>{whole}</p>;
  return (
    <span title={whole}>
      <Badge tone="ask">{t("incompleteShort", { count: nodes.length })}</Badge>
    </span>
  );
}

/** Says that the plan can be completed without a node. */
export function OptionalBadge() {
  const { t } = useTranslation("outcome");
  return (
    <span title={t("optionalAbout")}>
      <Badge>{t("optional")}</Badge>
    </span>
  );
}
