// The files of a node's folder as a list. Pure.
import { isFolder, type Listing } from "~/api/queries";

export interface NodeFile {
  /** Under `scratch/` or `published/`. */
  readonly path: string;
  readonly name: string;
  readonly size: number;
}

/** Return the files of a folder, by their paths under `root`. */
export function listFiles(listing: Listing, root: string): NodeFile[] {
  if (!isFolder(listing)) return [];
  return listing.entries
    .filter((entry) => entry.kind === "file")
    .map(({ path, name, size }) => ({ path: below(root, path), name, size }))
    .toSorted((one, other) => one.path.localeCompare(other.path));
}

function below(root: string, path: string): string {
  const folder = root.endsWith("/") ? root : `${root}/`;
  return path.startsWith(folder) ? path.slice(folder.length) : path;
}

/** Return the ending of a file's name, by which it is shown. */
export const kindOf = (name: string): string => /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";

export const isImage = (name: string): boolean =>
  ["png", "jpg", "jpeg", "gif", "webp", "avif"].includes(kindOf(name));
