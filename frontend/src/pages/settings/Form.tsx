// The form of a file: settings by sections, names of a table, or rules.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { Setting } from "~/api/system";
import { SearchInput } from "~/ui";
import type { FormProps } from "./draft";
import { Names } from "./Names";
import { Rules } from "./Rules";
import { arrangementOf, brief } from "./schema";
import { SettingField } from "./SettingField";
import styles from "./settings.module.css";

export function Form(props: FormProps) {
  switch (arrangementOf(props.content)) {
    case "rules":
      return <Rules {...props} />;
    case "names":
      return <Names {...props} />;
    default:
      return <Sections {...props} />;
  }
}

function Sections(props: FormProps) {
  const { t } = useTranslation("settings");
  const [words, setWords] = useState("");
  const sections = new Map<string, Setting[]>();
  for (const setting of props.content.settings) {
    const name = setting.key[0] ?? "";
    if (fits(setting, words)) sections.set(name, [...(sections.get(name) ?? []), setting]);
  }
  return (
    <div className={styles.form}>
      <SearchInput label={t("find")} value={words} onText={setWords} />
      {Array.from(sections, ([name, settings]) => (
        <fieldset key={name} className={styles.section}>
          <legend>{name}</legend>
          {props.content.sections[name] && <p className={styles.hint}>{props.content.sections[name]}</p>}
          {settings.map((setting) => (
            <SettingField
              key={setting.key.join(".")}
              {...props}
              path={setting.key}
              about={<About setting={setting} />}
              fallback={setting.default}
            />
          ))}
        </fieldset>
      ))}
      {sections.size === 0 && <p className={styles.hint}>{t("nothingFound")}</p>}
    </div>
  );
}

function About({ setting }: { setting: Setting }) {
  const { t } = useTranslation("settings");
  return (
    <>
      {setting.about && <span className={styles.means}>{setting.about}</span>}
      {setting.source !== "default" && (
        <span className={styles.from}>
          {setting.is_pending ? t("pending", { value: brief(setting.value) }) : t("inFile")}
          {` · ${t("usual", { value: brief(setting.default) })}`}
        </span>
      )}
    </>
  );
}

function fits(setting: Setting, words: string): boolean {
  const text = `${setting.key.join(".")} ${setting.about}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}
