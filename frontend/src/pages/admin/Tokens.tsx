// The API tokens of the home: listed, added, given another secret, revoked.
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";

import {
  type NewToken, type Scope, SCOPES, type Token, useAddToken, useRevokeToken, useRotateToken, useTokens,
} from "~/api/access";
import {
  Badge, Button, type Column, Confirm, Dialog, DialogActions, ErrorNote, Icon, IconButton, Input, Loaded, Menu,
  Panel, Select, Table, Time, toast,
} from "~/ui";
import styles from "./admin.module.css";
import { secondsOf } from "~/ui/durations";

/** The token that the commands of this machine use; it cannot be revoked. */
const HOME = "home";
const TONES = { active: "good", expired: "quiet", revoked: "quiet" } as const;

type Asked = { act: "rotate" | "revoke"; token: Token };

export function Tokens() {
  const { t } = useTranslation("admin");
  const query = useTokens();
  const [isAdding, setAdding] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [made, setMade] = useState<NewToken | null>(null);
  const columns = useColumns((act, token) => setAsked({ act, token }));
  return (
    <Panel
      title={t("tokens")}
      actions={
        <Button size="s" icon={<Icon name="plus" />} onClick={() => setAdding(true)}>
          {t("addToken")}
        </Button>
      }
    >
      <p className={styles.quiet}>{t("tokensAbout")}</p>
      <Loaded query={query}>
        {(tokens) => (
          <Table
            label={t("tokens")}
            columns={columns}
            rows={tokens}
            rowKey={(token) => `${token.name} ${token.created_at}`}
            isFaint={(token) => token.status !== "active"}
          />
        )}
      </Loaded>
      {isAdding && <Add onClose={() => setAdding(false)} onMade={setMade} />}
      {asked?.act === "rotate" && <Rotate token={asked.token} onClose={() => setAsked(null)} onMade={setMade} />}
      {asked?.act === "revoke" && <Revoke token={asked.token} onClose={() => setAsked(null)} />}
      {made?.token && <Secret made={made} onClose={() => setMade(null)} />}
    </Panel>
  );
}

function useColumns(onAsk: (act: Asked["act"], token: Token) => void): Column<Token>[] {
  const { t } = useTranslation("admin");
  return [
    { key: "name", label: t("token"), cell: (token) => <strong>{token.name}</strong> },
    { key: "scope", label: t("scope"), cell: (token) => token.scope },
    { key: "status", label: t("status"), cell: (token) => <Badge tone={TONES[token.status]}>{t(`status_${token.status}`)}</Badge> },
    {
      key: "created",
      label: t("created"),
      isMinor: true,
      cell: (token) => (
        <>
          <Time at={token.created_at} /> {t("createdBy", { name: token.created_by })}
        </>
      ),
    },
    { key: "expires", label: t("expires"), isMinor: true, cell: (token) => (token.expires_at === null ? t("never") : <Time at={token.expires_at} />) },
    { key: "used", label: t("lastUsed"), isMinor: true, cell: (token) => (token.last_used_at === null ? t("never") : <Time at={token.last_used_at} />) },
    {
      key: "acts",
      label: <span className="unseen">{t("acts")}</span>,
      isNumber: true,
      cell: (token) =>
        token.status === "active" && (
          <Menu
            trigger={<IconButton size="s" label={t("actsOf", { name: token.name })} icon={<Icon name="more" />} />}
            items={[
              { key: "rotate", icon: "retry", label: t("rotate"), onSelect: () => onAsk("rotate", token) },
              ...(token.name === HOME
                ? []
                : [{ key: "revoke", icon: "trash" as const, label: t("revoke"), isDangerous: true, onSelect: () => onAsk("revoke", token) }]),
            ]}
          />
        ),
    },
  ];
}

interface MadeProps {
  onClose: () => void;
  onMade: (made: NewToken) => void;
}

function Add({ onClose, onMade }: MadeProps) {
  const { t } = useTranslation("admin");
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("read");
  const [lasts, setLasts] = useState("");
  const add = useAddToken({
    onSuccess: (made) => {
      onClose();
      onMade(made);
    },
    onError: () => undefined,
  });
  const seconds = lasts.trim() ? secondsOf(lasts) : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.act({ name: name.trim(), scope, ...(seconds ? { expires_in_seconds: seconds } : {}) });
  };
  return (
    <Dialog isOpen onClose={onClose} title={t("addToken")} about={t("tokensAbout")}>
      <form className={styles.form} onSubmit={submit}>
        <Input
          label={t("name")}
          required
          maxLength={64}
          problem={add.error?.ofField("name")}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Select label={t("scope")} value={scope} onChange={(event) => setScope(event.target.value as Scope)}>
          {SCOPES.map((one) => (
            <option key={one} value={one}>
              {t(`scope_${one}`)}
            </option>
          ))}
        </Select>
        <Input
          label={t("expiresIn")}
          hint={t("expiresInHint")}
          problem={seconds === null ? t("notDuration") : undefined}
          value={lasts}
          onChange={(event) => setLasts(event.target.value)}
        />
        {add.error && <ErrorNote error={add.error} />}
        <DialogActions>
          <Button type="submit" look="main" disabled={!name.trim() || seconds === null} isBusy={add.isPending}>
            {t("makeToken")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function Rotate({ token: { name }, onClose, onMade }: MadeProps & { token: Token }) {
  const { t } = useTranslation("admin");
  const rotate = useRotateToken({
    onSuccess: (made) => {
      onClose();
      if (made.token) onMade(made);
      else toast({ title: t("rotated", { name }), tone: "good" });
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={t("rotateTitle", { name })}
      about={`${t("rotateAbout")} ${name === HOME ? t("rotateHome") : ""}`}
      act={t("rotate")}
      isBusy={rotate.isPending}
      onConfirm={() => rotate.act({ name })}
    />
  );
}

function Revoke({ token: { name }, onClose }: { token: Token; onClose: () => void }) {
  const { t } = useTranslation("admin");
  const revoke = useRevokeToken({
    onSuccess: () => {
      onClose();
      toast({ title: t("revoked", { name }), tone: "good" });
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={t("revokeTitle", { name })}
      about={t("revokeAbout")}
      act={t("revoke")}
      isBusy={revoke.isPending}
      onConfirm={() => revoke.act(name)}
    />
  );
}

/** Shows the secret of a token, which is kept nowhere. */
function Secret({ made, onClose }: { made: NewToken; onClose: () => void }) {
  const { t } = useTranslation("admin");
  const secret = made.token ?? "";
  return (
    <Dialog isOpen onClose={onClose} title={t("secretTitle", { name: made.name })} about={t("secretAbout")}>
      <p className={styles.secret}>
        <code>{secret}</code>
      </p>
      <DialogActions>
        <Button icon={<Icon name="copy" />} onClick={() => void navigator.clipboard?.writeText(secret)}>
          {t("copy")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
