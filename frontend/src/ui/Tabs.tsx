// Tabs: several views of one thing, of which one is shown.
import { Tabs as R } from "radix-ui";
import type { ReactNode } from "react";

import styles from "./Tabs.module.css";

export interface Tab {
  key: string;
  label: ReactNode;
  content: ReactNode;
}

interface TabsProps {
  tabs: readonly Tab[];
  /** The open one and what is told of another choice; without them the first is open. */
  open?: string;
  onOpen?: (key: string) => void;
  label: string;
}

export function Tabs({ tabs, open, onOpen, label }: TabsProps) {
  const first = tabs[0]?.key ?? "";
  const choice = open === undefined ? { defaultValue: first } : { value: open };
  return (
    <R.Root className={styles.tabs} {...choice} {...(onOpen ? { onValueChange: onOpen } : {})}>
      <R.List className={styles.list} aria-label={label}>
        {tabs.map((tab) => (
          <R.Trigger key={tab.key} value={tab.key} className={styles.tab}>
            {tab.label}
          </R.Trigger>
        ))}
      </R.List>
      {tabs.map((tab) => (
        <R.Content key={tab.key} value={tab.key} className={styles.content}>
          {tab.content}
        </R.Content>
      ))}
    </R.Root>
  );
}
