// The other machines that run workers: how each stands, steering it, inviting one.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { useMay } from "~/api/access";
import { ApiError } from "~/api/client";
import { type Host, type HostAct, useHosts, useInviteHost, useSteerHost } from "~/api/hosts";
import {
  Button,
  type Column,
  Confirm,
  Dialog,
  DialogActions,
  formatSize,
  Icon,
  IconButton,
  Input,
  Loaded,
  Menu,
  Panel,
  StatusSign,
  Table,
  Time,
} from "~/ui";
import styles from "./health.module.css";

type Listed = Exclude<HostAct, "force">;
type Asked = "drain" | "remove" | "force";
const ICONS = { cordon: "pause", uncordon: "play", drain: "logout", remove: "trash" } as const;
const CONFLICT = 409;
const isAsked = (act: HostAct): act is Asked => act === "drain" || act === "remove";

export function Hosts() {
  const { t } = useTranslation("health");
  const query = useHosts();
  const steer = useSteerHost();
  const mayControl = useMay("control");
  const [asked, setAsked] = useState<{ host: string; act: Asked; why?: string } | null>(null);
  const [isInviting, setInviting] = useState(false);
  const act = (host: string, what: HostAct) =>
    isAsked(what) ? setAsked({ host, act: what }) : steer.act({ host, act: what });
  const columns = useColumns(act);
  const confirm = async ({ host, act: what }: { host: string; act: Asked }) => {
    const refused = await steer.actAsync({ host, act: what }).then(
      () => null,
      (error: unknown) => error,
    );
    const isHeld = what === "remove" && refused instanceof ApiError && refused.status === CONFLICT;
    setAsked(isHeld ? { host, act: "force", why: refused.message.split(". `")[0] } : null);
  };
  return (
    <Panel
      title={t("hosts")}
      actions={
        mayControl && query.data?.listens_at && (
          <Button size="s" icon={<Icon name="plus" />} onClick={() => setInviting(true)}>
            {t("invite")}
          </Button>
        )
      }
    >
      <Loaded query={query} lines={2}>
        {({ hosts, listens_at, invitations, problem }) => (
          <>
            {hosts.length > 0 && (
              <Table
                label={t("hosts")}
                columns={columns}
                rows={hosts}
                rowKey={(host) => host.name}
                isFaint={(host) => host.is_cordoned}
              />
            )}
            {problem && <p className={styles.cause}>{problem}</p>}
            {!listens_at && !problem && <p className={styles.none}>{t("noUplink")}</p>}
            {listens_at && !hosts.length && <p className={styles.none}>{t("noHosts")}</p>}
            {invitations > 0 && <p className={styles.none}>{t("open", { count: invitations })}</p>}
          </>
        )}
      </Loaded>
      {isInviting && <Invitation onClose={() => setInviting(false)} />}
      {asked && (
        <Confirm
          isOpen
          onClose={() => setAsked(null)}
          title={t(`ask_${asked.act}`, { name: asked.host })}
          about={t(`about_${asked.act}`, { why: asked.why })}
          act={t(`act_${asked.act}`)}
          isBusy={steer.isPending}
          onConfirm={() => void confirm(asked)}
        />
      )}
    </Panel>
  );
}

function useColumns(act: (host: string, what: HostAct) => void): Column<Host>[] {
  const { t } = useTranslation("health");
  return [
    { key: "name", label: t("host"), cell: (host) => <Name host={host} /> },
    { key: "state", label: t("state"), cell: (host) => <State host={host} /> },
    { key: "processes", label: t("processes"), isNumber: true, cell: (host) => host.processes || "" },
    { key: "load", label: t("load"), isNumber: true, isMinor: true, cell: (host) => host.load.toFixed(1) },
    { key: "cores", label: t("cores"), isNumber: true, isMinor: true, cell: (host) => host.facts?.cores },
    { key: "free", label: t("free"), isNumber: true, isMinor: true, cell: (host) => (host.free_memory_bytes ? formatSize(host.free_memory_bytes) : "") },
    { key: "latency", label: t("latency"), isNumber: true, isMinor: true, cell: (host) => (host.latency_seconds === null ? "" : `${Math.round(host.latency_seconds * 1000)} ms`) },
    { key: "skew", label: t("skew"), isNumber: true, isMinor: true, cell: (host) => (host.skew_seconds === null ? "" : `${host.skew_seconds.toFixed(1)} s`) },
    { key: "acts", label: <span className="unseen">{t("acts")}</span>, isNumber: true, cell: (host) => <Acts host={host} act={act} /> },
  ];
}

function Name({ host }: { host: Host }) {
  return (
    <div className={styles.state}>
      <strong>{host.name}</strong>
      {host.labels.length > 0 && <span className={styles.doing}>{host.labels.join(", ")}</span>}
    </div>
  );
}

function State({ host }: { host: Host }) {
  const { t } = useTranslation("health");
  return (
    <div className={styles.state}>
      <StatusSign status={host.state} hasWord />
      {host.is_cordoned && <span className={styles.doing}>{t("cordoned")}</span>}
      {host.state !== "ready" && host.seen_at !== null && (
        <span className={styles.cause}>
          {t("seen")} <Time at={host.seen_at} />
        </span>
      )}
    </div>
  );
}

function Acts({ host, act }: { host: Host; act: (host: string, what: HostAct) => void }) {
  const { t } = useTranslation("health");
  if (!useMay("control")) return null;
  const acts: Listed[] = [host.is_cordoned ? "uncordon" : "cordon", "drain", "remove"];
  return (
    <Menu
      trigger={
        <IconButton size="s" label={t("actsOf", { name: host.name })} icon={<Icon name="more" />} />
      }
      items={acts.map((what) => ({
        key: what,
        icon: ICONS[what],
        label: t(`act_${what}`),
        isDangerous: what === "remove",
        onSelect: () => act(host.name, what),
      }))}
    />
  );
}

/** Asks for the machine's name and labels, then shows the line once. */
function Invitation({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation("health");
  const [name, setName] = useState("");
  const [labels, setLabels] = useState("");
  const invite = useInviteHost();
  const line = invite.data && `agiraph host join ${invite.data.line}`;
  const words = labels.split(/[\s,]+/).filter(Boolean);
  return (
    <Dialog isOpen onClose={onClose} title={t("invite")} about={t(line ? "aboutLine" : "aboutInvite")}>
      {line && invite.data ? (
        <>
          <p className={styles.line}>
            <code>{line}</code>
          </p>
          <p className={styles.none}>
            {t("validUntil")} <Time at={invite.data.expires_at} />
          </p>
          <DialogActions>
            <Button icon={<Icon name="copy" />} onClick={() => void navigator.clipboard?.writeText(line)}>
              {t("copy")}
            </Button>
          </DialogActions>
        </>
      ) : (
        <form
          className={styles.servers}
          onSubmit={(event) => {
            event.preventDefault();
            invite.act({ name: name.trim() || null, labels: words });
          }}
        >
          <Input label={t("hostName")} hint={t("hostNameHint")} value={name} onChange={(e) => setName(e.target.value)} />
          <Input label={t("labels")} hint={t("labelsHint")} value={labels} onChange={(e) => setLabels(e.target.value)} />
          <DialogActions>
            <Button type="submit" look="main" isBusy={invite.isPending}>
              {t("makeInvitation")}
            </Button>
          </DialogActions>
        </form>
      )}
    </Dialog>
  );
}
