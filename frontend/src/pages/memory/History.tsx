// The earlier texts of a note: who wrote each, what has changed since, and a way back.
import { useTranslation } from "react-i18next";
import { useSearchParams } from "react-router";

import { type MemoryFile, type MemoryVersion, useEditMemory, useMemoryHistory, useMemoryVersion } from "~/api/memory";
import { Badge, Button, classes, DiffView, Loaded, Time, toast } from "~/ui";
import styles from "./memory.module.css";

type Text = Pick<MemoryFile, "content" | "etag">;

interface HistoryProps {
  agent: string;
  path: string;
  now: Text;
  mayEdit: boolean;
}

const WORDS = { written: "written", "added to": "added", removed: "removed", found: "found" } as const;

export function History({ agent, path, now, mayEdit }: HistoryProps) {
  const { t } = useTranslation("memory");
  const [search, setSearch] = useSearchParams();
  const versions = useMemoryHistory(agent, path);
  return (
    <Loaded query={versions}>
      {(all) => {
        const newest = all.toReversed();
        const chosen = Number(search.get("version")) || newest[1]?.number || newest[0]?.number;
        if (chosen === undefined) return <p className={styles.about}>{t("historyNone")}</p>;
        return (
          <div className={styles.history}>
            <p className={styles.about}>{t("historyAbout")}</p>
            <ol className={styles.versions}>
              {newest.map((version) => (
                <li key={version.number}>
                  <button
                    type="button"
                    className={classes(styles.version)}
                    aria-pressed={version.number === chosen}
                    onClick={() => setSearch({ history: "1", version: String(version.number) }, { replace: true })}
                  >
                    <AboutVersion version={version} />
                  </button>
                </li>
              ))}
            </ol>
            <Version key={chosen} agent={agent} path={path} number={chosen} now={now} mayEdit={mayEdit} />
          </div>
        );
      }}
    </Loaded>
  );
}

function AboutVersion({ version }: { version: MemoryVersion }) {
  const { t } = useTranslation("memory");
  return (
    <>
      <strong>{t("version", { number: version.number })}</strong>
      <Badge tone={version.by === "human" ? "accent" : "quiet"}>{version.by || t("nobody")}</Badge>
      <span>{t(WORDS[version.change])}</span>
      <Time at={version.at} form="full" />
    </>
  );
}

function Version({ agent, path, number, now, mayEdit }: HistoryProps & { number: number }) {
  const { t } = useTranslation("memory");
  const version = useMemoryVersion(agent, path, number);
  const edit = useEditMemory(agent, {
    onSuccess: () => void toast({ title: t("restored", { number }), tone: "good" }),
  });
  return (
    <Loaded query={version}>
      {({ content }) => {
        const text = content ?? "";
        return (
          <>
            <DiffView before={text} after={now.content} names={[t("version", { number }), t("now")]} />
            {mayEdit && text !== "" && text !== now.content && (
              <div className={styles.acts}>
                <Button
                  look="main"
                  isBusy={edit.isPending}
                  onClick={() => edit.act({ path, content: text, etag: now.etag, tell: true })}
                >
                  {t("restore")}
                </Button>
              </div>
            )}
          </>
        );
      }}
    </Loaded>
  );
}
