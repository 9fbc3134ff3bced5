// A table of names (providers, prices, external agents): one is chosen, its fields are a form.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { Badge, Button, classes, Icon, Input, paths, SearchInput } from "~/ui";
import { at, type FormProps, withChange } from "./draft";
import { inShort, propertiesOf, schemaAt } from "./schema";
import { SettingField } from "./SettingField";
import styles from "./settings.module.css";

/** In agents.yaml beside the agents, and no agent. */
const AGENTIC_TEAM = "agentic_team";

export function Names(props: FormProps) {
  const { t } = useTranslation("settings");
  const { content, own, draft, onDraft } = props;
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const [fresh, setFresh] = useState("");
  const changed = draft.changes.map((one) => String(one.key[0]));
  const mine = new Set([...Object.keys(own), ...changed]);
  const rows = new Map(content.settings.map((one) => [one.key[0] ?? "", one]));
  const all = [...mine, ...Array.from(rows.keys()).filter((name) => !mine.has(name))];
  const shown = all.filter((name) => name.toLowerCase().includes(words.toLowerCase()));
  const add = () => {
    const name = fresh.trim();
    if (!name) return;
    setChosen(name);
    setFresh("");
  };
  return (
    <div className={styles.form}>
      <SearchInput label={t("find")} value={words} onText={setWords} />
      <ul className={styles.names}>
        {shown.map((name) => (
          <li key={name}>
            <button
              type="button"
              aria-expanded={name === chosen}
              className={classes(styles.nameButton, name === chosen && styles.isOpen)}
              onClick={() => setChosen(name === chosen ? null : name)}
            >
              <Icon name="chevron" />
              <span>{name}</span>
              <span className={styles.short}>{inShort(rows.get(name)?.value)}</span>
              {mine.has(name) && <Badge tone="busy">{t("yours")}</Badge>}
            </button>
            {name === chosen && name !== AGENTIC_TEAM && <Fields {...props} name={name} />}
            {name === chosen && name === AGENTIC_TEAM && <Link to={paths.editRoles}>{t("editRoles")}</Link>}
          </li>
        ))}
        {chosen !== null && !all.includes(chosen) && (
          <li>
            <p className={styles.name}>{chosen}</p>
            <Fields {...props} name={chosen} />
          </li>
        )}
      </ul>
      <form
        className={styles.add}
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <Input label={t("newName")} isLabelUnseen placeholder={t("newName")} value={fresh} onChange={(event) => setFresh(event.target.value)} />
        <Button type="submit" icon={<Icon name="plus" />} disabled={!fresh.trim()}>
          {t("add")}
        </Button>
        {chosen !== null && mine.has(chosen) && (
          <Button
            look="danger"
            onClick={() => onDraft(withChange(draft, { key: [chosen], value: null, remove: true }))}
          >
            {t("removeYours", { name: chosen })}
          </Button>
        )}
      </form>
    </div>
  );
}

function Fields({ name, ...props }: FormProps & { name: string }) {
  const row = props.content.settings.find((one) => one.key[0] === name);
  const shipped = props.content.whole_rows ? ((row?.default ?? {}) as Record<string, unknown>) : undefined;
  return (
    <div className={styles.fields}>
      {propertiesOf(schemaAt(props.content.shape, [name])).map(([field, shape]) => (
        <SettingField
          key={field}
          {...props}
          path={[name, field]}
          whole={shipped && { key: [name], value: shipped }}
          fallback={at(row?.default, [field]) ?? shape["default"]}
        />
      ))}
    </div>
  );
}
