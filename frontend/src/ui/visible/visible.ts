// Props of an element as they are shown: the unseen characters of its texts are seen. Pure.
import { withUnseenShown } from "../format";

type Props = Record<string, unknown>;

const TEXTS = ["children", "title", "alt", "aria-label"] as const;

/** Return the props of any element with the texts of others as they are, or look like, to a reader. */
export function visible<P>(props: P): P {
  const given = props as Props;
  let shown: Props | undefined;
  for (const name of TEXTS) {
    const value = given[name];
    const next = textOf(value);
    if (next !== value) shown = { ...(shown ?? given), [name]: next };
  }
  return (shown ?? given) as P;
}

function textOf(value: unknown): unknown {
  if (typeof value === "string") return withUnseenShown(value);
  if (!Array.isArray(value)) return value;
  const next = value.map((one: unknown) => (typeof one === "string" ? withUnseenShown(one) : one));
  return next.some((one, place) => one !== value[place]) ? next : value;
}
