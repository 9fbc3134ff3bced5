// The notes of earlier work that entered the prompts of an agent, run by run, and why.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { type UsedNote, useUsedNotes } from "~/api/knowledge";
import { Badge, Dialog, Empty, Loaded, paths } from "~/ui";
import styles from "./memory.module.css";

export function UsedNotes({ agent, onClose }: { agent: string; onClose: () => void }) {
  const { t } = useTranslation("memory");
  const used = useUsedNotes(agent);
  return (
    <Dialog isOpen isWide onClose={onClose} title={t("usedNotes")} about={t("usedNotesAbout")}>
      <Loaded query={used}>
        {(notes) =>
          notes.length ? (
            <div className={styles.used}>
              {byRun(notes).map(([run, of]) => (
                <section key={run}>
                  <h3>{t("run", { run })}</h3>
                  <ul>
                    {of.map((note, index) => (
                      <Used key={`${note.id} ${index}`} note={note} />
                    ))}
                  </ul>
                </section>
              ))}
            </div>
          ) : (
            <Empty icon="knowledge" title={t("usedNone")}>
              {t("usedNoneAbout")}
            </Empty>
          )
        }
      </Loaded>
    </Dialog>
  );
}

function Used({ note }: { note: UsedNote }) {
  const { t } = useTranslation("knowledge");
  return (
    <li>
      <Badge>{t(`kind_${note.kind}`)}</Badge> <Link to={paths.knowledge(note.id)}>{note.title}</Link>
      <small>{note.why}</small>
    </li>
  );
}

/** Return notes with the run that they entered, in the order of the first of each run. */
function byRun(notes: readonly UsedNote[]): [string, UsedNote[]][] {
  const runs = new Map<string, UsedNote[]>();
  for (const note of notes) runs.set(note.run, [...(runs.get(note.run) ?? []), note]);
  return [...runs];
}
