// Values in the text: money, tokens, sizes, lengths of time, times, and how something stands.
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { classes } from "./classes";
import {
  formatAge,
  formatCount,
  formatMoney,
  formatSeconds,
  formatShortCount,
  formatShortMoney,
  formatSize,
  formatTime,
  markEstimate,
  type TimeForm,
} from "./format";
import { lookOf, STATUSES } from "./status";
import styles from "./values.module.css";

interface AmountProps {
  isShort?: boolean;
  /** The service has not counted all of it. */
  isEstimate?: boolean | undefined;
}

export function Money({ usd, isShort = false, isEstimate }: AmountProps & { usd: number | null | undefined }) {
  if (usd == null) return null;
  const whole = markEstimate(formatMoney(usd), isEstimate);
  return <span title={whole}>{isShort ? markEstimate(formatShortMoney(usd), isEstimate) : whole}</span>;
}

export function Tokens({ count, isShort = false, isEstimate }: AmountProps & { count: number | null | undefined }) {
  const { t } = useTranslation("common");
  if (count == null) return null;
  const whole = markEstimate(t("tokens", { count, shown: formatCount(count) }), isEstimate);
  return <span title={whole}>{isShort ? markEstimate(formatShortCount(count), isEstimate) : whole}</span>;
}

export const Size = ({ bytes }: { bytes: number }) => <span>{formatSize(bytes)}</span>;

export const Duration = ({ seconds }: { seconds: number }) => <span>{formatSeconds(seconds)}</span>;

/** The present, in seconds since 1970, anew every so many seconds. */
export function useNow(everySeconds = 1): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), everySeconds * 1000);
    return () => clearInterval(timer);
  }, [everySeconds]);
  return now;
}

/** How long ago something was, in at most four characters. */
export function Age({ at }: { at: number }) {
  const now = useNow(at > Date.now() / 1000 - 120 ? 1 : 30);
  const { i18n } = useTranslation();
  const whole = formatTime(at, now, i18n.language, "full");
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={whole}>
      {formatAge(now - at)}
    </time>
  );
}

export function Time({ at, form = "time" }: { at: number; form?: TimeForm }) {
  const { i18n } = useTranslation();
  const now = Date.now() / 1000;
  return (
    <time
      dateTime={new Date(at * 1000).toISOString()}
      title={formatTime(at, now, i18n.language, "full")}
    >
      {formatTime(at, now, i18n.language, form)}
    </time>
  );
}

/** The name of a status in words. */
export function useStatusName(): (status: string) => string {
  const { t } = useTranslation("status");
  return (status) =>
    STATUSES.includes(status) ? t(status as "idle") : status.replaceAll("_", " ");
}

/** How somebody or something stands: by colour and by a sign, with a word or without. */
export function StatusSign({ status, hasWord = false }: { status: string; hasWord?: boolean }) {
  const word = useStatusName()(status);
  const { sign, tone } = lookOf(status);
  return (
    <span className={styles.status} title={word}>
      <span className={classes(styles.sign, styles[tone])} aria-hidden="true">
        {sign}
      </span>
      <span className={hasWord ? styles[tone] : "unseen"}>{word}</span>
    </span>
  );
}

export function Badge({
  tone = "quiet",
  children,
}: {
  tone?: "good" | "busy" | "ask" | "bad" | "quiet" | "accent";
  children: React.ReactNode;
}) {
  return <span className={classes(styles.badge, styles[`${tone}Badge`])}>{children}</span>;
}

/** How many are unread; nothing for none. */
export function Unread({ count }: { count: number }) {
  const { t } = useTranslation("common");
  if (!count) return null;
  return (
    <span className={styles.unread}>
      <span aria-hidden="true">{count > 99 ? "99+" : count}</span>
      <span className="unseen">{t("unread", { count })}</span>
    </span>
  );
}
