// What opens above the page: dialogs, menus, tooltips. On Radix: focus, Escape and roles are its.
import { Dialog as R, DropdownMenu as M, Tooltip as T } from "radix-ui";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Button, IconButton } from "./Button";
import { classes } from "./classes";
import { Icon, type IconName } from "./Icon";
import styles from "./overlays.module.css";

interface DialogProps {
  isOpen: boolean;
  onClose: () => void;
  title: ReactNode;
  about?: ReactNode;
  isWide?: boolean;
  children: ReactNode;
}

export function Dialog({ isOpen, onClose, title, about, isWide = false, children }: DialogProps) {
  const { t } = useTranslation("common");
  return (
    <R.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <R.Portal>
        <R.Overlay className={styles.veil} />
        <R.Content
          className={classes(styles.dialog, isWide && styles.wide)}
          {...(about ? {} : { "aria-describedby": undefined })}
        >
          <header className={styles.dialogHead}>
            <R.Title>{title}</R.Title>
            <R.Close asChild>
              <IconButton label={t("close")} size="s" icon={<Icon name="close" />} />
            </R.Close>
          </header>
          {about && <R.Description className={styles.about}>{about}</R.Description>}
          {children}
        </R.Content>
      </R.Portal>
    </R.Root>
  );
}

/** The buttons at the end of a dialog. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <footer className={styles.dialogActions}>{children}</footer>
);

interface ConfirmProps {
  isOpen: boolean;
  onClose: () => void;
  title: ReactNode;
  about: ReactNode;
  /** What the button says that does it. */
  act: string;
  onConfirm: () => void;
  isBusy?: boolean;
  /** What else is chosen before. */
  children?: ReactNode;
}

/** Asks before something is done that cannot be undone. */
export function Confirm({ isOpen, onClose, title, about, act, onConfirm, isBusy, children }: ConfirmProps) {
  const { t } = useTranslation("common");
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={title} about={about}>
      {children}
      <DialogActions>
        <Button onClick={onClose}>{t("cancel")}</Button>
        <Button look="danger" onClick={onConfirm} isBusy={isBusy ?? false}>
          {act}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** A panel that comes in from a side: the sidebar on a narrow screen, a node of the board. */
export function Drawer({
  isOpen,
  onClose,
  label,
  side = "left",
  children,
}: {
  isOpen: boolean;
  onClose: () => void;
  label: string;
  side?: "left" | "right";
  children: ReactNode;
}) {
  return (
    <R.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <R.Portal>
        <R.Overlay className={styles.veil} />
        <R.Content
          className={classes(styles.drawer, styles[side])}
          aria-describedby={undefined}
        >
          <R.Title className="unseen">{label}</R.Title>
          {children}
        </R.Content>
      </R.Portal>
    </R.Root>
  );
}

export interface MenuItem {
  key: string;
  label: ReactNode;
  icon?: IconName;
  onSelect: () => void;
  isDangerous?: boolean;
  isDisabled?: boolean;
  /** Whether it is the one that holds, where one of several does. */
  isChosen?: boolean;
}

/** A button that opens a menu; null among `items` is a line between them. Without items: nothing. */
export function Menu({ trigger, items }: { trigger: ReactNode; items: readonly (MenuItem | null)[] }) {
  if (!items.length) return null;
  return (
    <M.Root modal={false}>
      <M.Trigger asChild>{trigger}</M.Trigger>
      <M.Portal>
        <M.Content className={styles.menu} align="end" sideOffset={6} collisionPadding={8}>
          {items.map((item, place) =>
            item === null ? (
              <M.Separator key={`line ${place}`} className={styles.line} />
            ) : (
              <M.Item
                key={item.key}
                className={classes(styles.item, item.isDangerous && styles.dangerous)}
                disabled={item.isDisabled ?? false}
                onSelect={item.onSelect}
              >
                {item.icon && <Icon name={item.icon} />}
                <span className={styles.itemLabel}>{item.label}</span>
                {item.isChosen && <Icon name="check" />}
              </M.Item>
            ),
          )}
        </M.Content>
      </M.Portal>
    </M.Root>
  );
}

export const TooltipProvider = ({ children }: { children: ReactNode }) => (
  <T.Provider delayDuration={400}>{children}</T.Provider>
);

/** Says more of its child, which must be a thing that can have the focus. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactNode }) {
  return (
    <T.Root>
      <T.Trigger asChild>{children}</T.Trigger>
      <T.Portal>
        <T.Content className={styles.tooltip} sideOffset={6} collisionPadding={8}>
          {text}
        </T.Content>
      </T.Portal>
    </T.Root>
  );
}
