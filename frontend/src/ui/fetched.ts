// Parts of the page that are fetched when they are first shown; while the gateway is away, later.
import { type ComponentType, lazy } from "react";

const LOOK_MILLISECONDS = 500;
const STYLES = /Unable to preload CSS for (\S+)/;

type Load<Part> = () => Promise<Part>;

export interface Surroundings {
  /** Ends when the gateway can be reached. */
  reach: () => Promise<unknown>;
  addStyles: (address: string) => Promise<unknown>;
}

/** Fetch a part: once more, when the gateway can be reached, if that has failed. */
export async function fetched<Part>(load: Load<Part>, around: Surroundings = HERE): Promise<Part> {
  try {
    return await load();
  } catch (error) {
    await around.reach();
    const styles = STYLES.exec(String(error))?.[1];
    if (styles) await around.addStyles(styles); // that they are there is what the loader now thinks
    return load();
  }
}

type Component<Props> = { default: ComponentType<Props> };

/** Return a part to show. One that cannot be had fails, unless there is something else to show. */
export const fetchedPart = <Props>(load: Load<Component<Props>>, other?: ComponentType<Props>) =>
  lazy(async () => {
    try {
      return await fetched(load);
    } catch (error) {
      if (!other) throw error; // some browsers never ask again for what they once did not get
      return { default: other };
    }
  });

const HERE: Surroundings = {
  async reach() {
    const isThere = () => fetch(import.meta.env.BASE_URL).then(() => true, () => false);
    while (!(await isThere())) {
      await new Promise((due) => setTimeout(due, LOOK_MILLISECONDS));
    }
  },
  addStyles: (address) =>
    new Promise((added, failed) => {
      const link = document.createElement("link");
      Object.assign(link, { rel: "stylesheet", href: address, onload: added });
      link.addEventListener("error", () => failed(new TypeError(`cannot fetch ${address}`)));
      document.head.append(link);
    }),
};
