// The memory of an agent: its notes, and beside them the one that the address names.
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useNavigate, useParams } from "react-router";

import { useMay } from "~/api/access";
import { useMemory, useMemorySearch } from "~/api/queries";
import {
  Button,
  Dialog,
  DialogActions,
  Empty,
  Icon,
  Input,
  Loaded,
  Page,
  paths,
  SearchInput,
  Split,
  useAgentId,
} from "~/ui";
import styles from "./memory.module.css";
import { NotePage } from "./NotePage";
import { foldersOf, isNotePath, nameOf } from "./notes";
import { UsedNotes } from "./UsedNotes";

const MAIN = "MEMORY.md";

export default function Memory() {
  const { t } = useTranslation("memory");
  const agent = useAgentId();
  const path = useParams()["*"] ?? "";
  const [words, setWords] = useState("");
  const [isNaming, setNaming] = useState(false);
  const [isShowingUsed, setShowingUsed] = useState(false);
  const mayEdit = useMay("control");
  const notes = useMemory(agent);
  const shown = path || (notes.data?.some((note) => note.path === MAIN) ? MAIN : notes.data?.[0]?.path);
  const actions = (
    <>
      <Button icon={<Icon name="knowledge" />} onClick={() => setShowingUsed(true)}>
        {t("usedNotes")}
      </Button>
      {mayEdit && (
        <Button icon={<Icon name="plus" />} onClick={() => setNaming(true)}>
          {t("newNote")}
        </Button>
      )}
    </>
  );
  const side = (
    <>
      <SearchInput label={t("find")} value={words} onText={setWords} />
      <div className={styles.side}>
        {words.trim() ? <FoundNotes agent={agent} words={words} /> : <Notes agent={agent} shown={shown} />}
      </div>
    </>
  );
  return (
    <Page title={t("title")} actions={actions} isWhole>
      <Split side={side} sideLabel={t("list")} isChosen={path !== ""}>
        {shown ? (
          <NotePage key={shown} agent={agent} path={shown} mayEdit={mayEdit} />
        ) : (
          <Loaded query={notes}>
            {() => (
              <Empty icon="memory" title={t("emptyTitle")}>
                {t("emptyAbout")}
              </Empty>
            )}
          </Loaded>
        )}
      </Split>
      {isNaming && <NewNote agent={agent} onClose={() => setNaming(false)} />}
      {isShowingUsed && <UsedNotes agent={agent} onClose={() => setShowingUsed(false)} />}
    </Page>
  );
}

function Notes({ agent, shown }: { agent: string; shown: string | undefined }) {
  const { t } = useTranslation("memory");
  const notes = useMemory(agent);
  return (
    <Loaded query={notes}>
      {(all) =>
        foldersOf(all, t("days")).map(({ name, notes: of }) => (
          <section key={name} className={styles.folder}>
            {name && <h2>{name}</h2>}
            <ul>
              {of.map(({ path }) => (
                <li key={path}>
                  <Link
                    className={styles.note}
                    to={paths.memory(agent, path)}
                    aria-current={path === shown ? "page" : undefined}
                  >
                    <Icon name={path === MAIN ? "star" : "memory"} />
                    <span>{nameOf(path)}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        ))
      }
    </Loaded>
  );
}

function FoundNotes({ agent, words }: { agent: string; words: string }) {
  const { t } = useTranslation("memory");
  const hits = useMemorySearch(agent, useDeferredValue(words));
  return (
    <Loaded query={hits}>
      {(found) =>
        found.length ? (
          <ul>
            {found.map(({ path, heading, text }) => (
              <li key={`${path} ${heading} ${text.slice(0, 80)}`}>
                <Link className={styles.hit} to={paths.memory(agent, path)}>
                  <strong>{heading || nameOf(path)}</strong>
                  <small>{path}</small>
                  <span>{text.replace(/^#+ .*\n+/, "").slice(0, 160)}</span>
                </Link>
              </li>
            ))}
          </ul>
        ) : (
          <p className={styles.about}>{t("foundNone")}</p>
        )
      }
    </Loaded>
  );
}

function NewNote({ agent, onClose }: { agent: string; onClose: () => void }) {
  const { t } = useTranslation("memory");
  const { t: common } = useTranslation("common");
  const [name, setName] = useState("preferences/");
  const [isOdd, setOdd] = useState(false);
  const navigate = useNavigate();
  const create = (event: React.FormEvent) => {
    event.preventDefault();
    if (isNotePath(name.trim())) {
      void navigate(`${paths.memory(agent, name.trim())}?edit=1`);
      onClose();
    } else setOdd(true);
  };
  return (
    <Dialog isOpen onClose={onClose} title={t("newNote")} about={t("newAbout")}>
      <form onSubmit={create}>
        <Input
          label={t("path")}
          value={name}
          spellCheck={false}
          problem={isOdd ? t("pathProblem") : undefined}
          onChange={(event) => setName(event.target.value)}
        />
        <DialogActions>
          <Button onClick={onClose}>{common("cancel")}</Button>
          <Button look="main" type="submit">
            {t("create")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
