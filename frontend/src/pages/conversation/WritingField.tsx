// The field one writes in: it grows with the text, and completes names after an @.
import {
  type ClipboardEvent,
  type KeyboardEvent,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { useTranslation } from "react-i18next";

import { classes } from "~/ui";
import styles from "./Composer.module.css";
import { completed, completionsOf, type Mention, mentionAt } from "./mention";
import { useName } from "./Message";

interface WritingFieldProps {
  label: string;
  text: string;
  names: readonly string[];
  describedBy: string;
  onText: (text: string) => void;
  onSend: () => void;
  onFiles: (files: Iterable<File>) => void;
}

export function WritingField(props: WritingFieldProps) {
  const { label, text, names, describedBy, onText, onSend, onFiles } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const list = useId();
  const [mention, setMention] = useState<Mention | null>(null);
  const [place, setPlace] = useState(0);
  const caret = useRef<number | null>(null);
  const found = mention ? completionsOf(mention.query, names) : [];
  const chosen = found[Math.min(place, found.length - 1)];

  useLayoutEffect(() => {
    const element = field.current;
    if (!element || element.value !== text) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
    if (caret.current !== null) element.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  }, [text]);

  const look = (element: HTMLTextAreaElement) => {
    setMention(mentionAt(element.value, element.selectionStart));
    setPlace(0);
  };
  const choose = (name: string) => {
    if (!mention) return;
    const [next, at] = completed(text, mention, name);
    caret.current = at;
    onText(next);
    setMention(null);
    field.current?.focus();
  };
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (chosen !== undefined && step !== undefined) {
      setPlace((place + step + found.length) % found.length);
    } else if (chosen !== undefined && (event.key === "Enter" || event.key === "Tab")) choose(chosen);
    else if (chosen !== undefined && event.key === "Escape") setMention(null);
    else if (event.key === "Enter" && !event.shiftKey) onSend();
    else return;
    event.preventDefault();
  };
  const paste = (event: ClipboardEvent) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    onFiles(event.clipboardData.files);
  };
  return (
    <div className={styles.field}>
      {found.length > 0 && <Names id={list} names={found} chosen={chosen} onChoose={choose} />}
      <textarea
        ref={field}
        rows={1}
        className={styles.text}
        aria-label={label}
        placeholder={label}
        value={text}
        role="combobox"
        aria-expanded={found.length > 0}
        aria-controls={found.length > 0 ? list : undefined}
        aria-activedescendant={chosen === undefined ? undefined : `${list}-${chosen}`}
        aria-autocomplete="list"
        aria-describedby={describedBy}
        onChange={(event) => {
          onText(event.target.value);
          look(event.target);
        }}
        onClick={(event) => look(event.currentTarget)}
        onBlur={() => setMention(null)}
        onKeyDown={press}
        onPaste={paste}
      />
    </div>
  );
}

interface NamesProps {
  id: string;
  names: readonly string[];
  chosen: string | undefined;
  onChoose: (name: string) => void;
}

function Names({ id, names, chosen, onChoose }: NamesProps) {
  const { t } = useTranslation("conversation");
  const called = useName();
  return (
    <div id={id} className={styles.names} role="listbox" tabIndex={-1} aria-label={t("names")}>
      {names.map((name) => (
        <div
          key={name}
          tabIndex={-1}
          id={`${id}-${name}`}
          role="option"
          aria-selected={name === chosen}
          className={classes(styles.nameOption, name === chosen && styles.isChosen)}
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(name);
          }}
        >
          <b>@{name}</b> {called(name) !== name && called(name)}
        </div>
      ))}
    </div>
  );
}
