// The texts of two entities: what the chosen one wrote, with the answers, oldest first.
import { useMemo } from "react";
import { useTranslation } from "react-i18next";

import { useMessages } from "~/api/queries";
import { classes, Loaded, Markdown, Time, VirtualList } from "~/ui";
import styles from "./communication.module.css";

interface TextsProps {
  agent: string;
  pair: { from: string; to: string };
}

export function Texts({ agent, pair: { from, to } }: TextsProps) {
  const { t } = useTranslation("communication");
  const query = useMessages(agent);
  const texts = useMemo(
    () =>
      query.data?.filter(
        (one) =>
          (one.from === from && one.to === to) || (one.from === to && one.to === from),
      ) ?? [],
    [query.data, from, to],
  );
  return (
    <Loaded query={query}>
      {() => (
        <div className={styles.texts}>
          <VirtualList rows={texts} rowKey={(one) => one.seq} label={t("texts")} isFromEnd role="log">
            {(one) => (
              <article className={classes(styles.text, one.from === from && styles.own)}>
                <header>
                  <b>{one.from}</b> <Time at={one.ts} />
                </header>
                <Markdown text={one.content} />
              </article>
            )}
          </VirtualList>
        </div>
      )}
    </Loaded>
  );
}
