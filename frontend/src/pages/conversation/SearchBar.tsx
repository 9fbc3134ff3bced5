// Searching in the conversation: what is found is shown in its place.
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

import { Icon, IconButton, Spinner } from "~/ui";
import styles from "./SearchBar.module.css";

interface SearchBarProps {
  query: string;
  onQuery: (query: string) => void;
  hits: readonly string[];
  shown: string | null;
  isReading: boolean;
  onStep: (step: 1 | -1) => void;
  onClose: () => void;
}

export function SearchBar(props: SearchBarProps) {
  const { query, onQuery, hits, shown, isReading, onStep, onClose } = props;
  const { t } = useTranslation("conversation");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const place = shown === null ? 0 : hits.length - hits.indexOf(shown);
  const count = hits.length
    ? t("hits", { place, count: hits.length })
    : t(isReading ? "searching" : "noHits");
  return (
    <search className={styles.bar}>
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        className={styles.input}
        aria-label={t("search")}
        placeholder={t("search")}
        value={query}
        onChange={(event) => onQuery(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onStep(event.shiftKey ? 1 : -1);
          else if (event.key === "Escape") onClose();
          else return;
          event.preventDefault();
        }}
      />
      <span className={styles.count} role="status">
        {query.trim() ? count : ""}
        {isReading && query.trim() !== "" && <Spinner />}
      </span>
      <IconButton size="s" label={t("olderHit")} className={styles.up} icon={<Icon name="down" />} onClick={() => onStep(-1)} />
      <IconButton size="s" label={t("newerHit")} icon={<Icon name="down" />} onClick={() => onStep(1)} />
      <IconButton size="s" label={t("closeSearch")} icon={<Icon name="close" />} onClick={onClose} />
    </search>
  );
}
