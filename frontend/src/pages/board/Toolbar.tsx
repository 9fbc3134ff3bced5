// Above the board: search, which statuses are shown, focus, messages, graph or table.
import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { Button, classes, Icon, StatusSign, useKey } from "~/ui";
import styles from "./board.module.css";
import { countByStatus, type Graph, nodesFor } from "./graph";
import type { View } from "./useView";

interface ToolbarProps {
  graph: Graph;
  view: View;
  isNodeOpen: boolean;
  onView: (change: Partial<View>) => void;
  onFound: (node: string) => void;
}

export function Toolbar({ graph, view, isNodeOpen, onView, onFound }: ToolbarProps) {
  const { t } = useTranslation("board");
  const toggle = (status: string) => {
    const { statuses } = view;
    const isOn = statuses.includes(status);
    onView({ statuses: isOn ? statuses.filter((one) => one !== status) : [...statuses, status] });
  };
  const isGraph = view.as === "graph";
  useKey("t", t("asTable"), () => onView({ as: isGraph ? "table" : "graph" }));
  useKey("m", t("messages"), () => onView({ hasMessages: !view.hasMessages }), { isOn: isGraph });
  useKey("o", t("focus"), () => onView({ isFocused: !view.isFocused }), { isOn: isNodeOpen });
  return (
    <div className={styles.toolbar} role="toolbar" aria-label={t("tools")}>
      <Search graph={graph} onFound={onFound} />
      <div className={styles.statuses} role="group" aria-label={t("filter")}>
        {countByStatus(graph.nodes.values()).map(([status, count]) => (
          <button
            key={status}
            type="button"
            className={styles.chip}
            aria-pressed={view.statuses.includes(status)}
            onClick={() => toggle(status)}
          >
            <StatusSign status={status} hasWord />
            <span className={styles.count}>{count}</span>
          </button>
        ))}
      </div>
      <div className={styles.switches}>
        <Switch
          label={t("focus")}
          icon="focus"
          isOn={view.isFocused}
          isDisabled={!isNodeOpen}
          onClick={() => onView({ isFocused: !view.isFocused })}
        />
        {isGraph && (
          <Switch
            label={t("messages")}
            icon="chat"
            isOn={view.hasMessages}
            onClick={() => onView({ hasMessages: !view.hasMessages })}
          />
        )}
        <Switch
          label={t("history")}
          icon="trigger"
          isOn={view.at !== null}
          onClick={() => onView({ at: view.at === null ? LATEST : null })}
        />
        <Switch
          label={t("asTable")}
          icon="table"
          isOn={!isGraph}
          onClick={() => onView({ as: isGraph ? "table" : "graph" })}
        />
      </div>
    </div>
  );
}

/** Stands for the last that happened, whatever that is. */
export const LATEST = 999_999_999;

interface SwitchProps {
  label: string;
  icon: "focus" | "chat" | "table" | "trigger";
  isOn: boolean;
  isDisabled?: boolean;
  onClick: () => void;
}

const Switch = ({ label, icon, isOn, isDisabled = false, onClick }: SwitchProps) => (
  <Button
    look="bare"
    size="s"
    className={classes(styles.switch, isOn && styles.on)}
    icon={<Icon name={icon} />}
    aria-pressed={isOn}
    disabled={isDisabled}
    onClick={onClick}
  >
    <span className={styles.switchLabel}>{label}</span>
  </Button>
);

/** Finds nodes as one types; Enter goes to the next one. */
function Search({ graph, onFound }: Pick<ToolbarProps, "graph" | "onFound">) {
  const { t } = useTranslation("board");
  const [words, setWords] = useState("");
  const [place, setPlace] = useState(-1);
  const field = useRef<HTMLInputElement>(null);
  useKey("/", t("search"), () => field.current?.focus());
  const found = nodesFor(words, graph.nodes.values());
  const step = (by: number) => {
    const next = (place + by + found.length) % found.length;
    const node = found[next];
    if (!node) return;
    setPlace(next);
    onFound(node.id);
  };
  return (
    <div className={styles.search} role="search">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        aria-label={t("search")}
        placeholder={t("search")}
        value={words}
        onChange={(event) => {
          setWords(event.target.value);
          setPlace(-1);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") setWords("");
        }}
      />
      <span className={styles.found} role="status">
        {words.trim() && t("found", { place: place + 1, count: found.length })}
      </span>
    </div>
  );
}
