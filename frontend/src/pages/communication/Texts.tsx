// The texts of two entities: what the chosen one wrote, with the answers, oldest first.
import { useTranslation } from "react-i18next";

import { useTexts } from "~/api/traffic";
import { classes, Loaded, Markdown, Time, VirtualList } from "~/ui";
import styles from "./communication.module.css";

interface TextsProps {
  agent: string;
  pair: { from: string; to: string };
}

export function Texts({ agent, pair: { from, to } }: TextsProps) {
  const { t } = useTranslation("communication");
  const query = useTexts(agent, from, to);
  const older = () => {
    if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
  };
  return (
    <Loaded query={query}>
      {() => (
        <div className={styles.texts}>
          <VirtualList
            rows={query.texts}
            rowKey={(one) => one.seq}
            label={t("texts")}
            isFromEnd
            onNearStart={older}
            role="log"
          >
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
