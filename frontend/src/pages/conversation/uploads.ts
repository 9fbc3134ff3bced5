// Files on their way into the run: each under one Idempotency-Key however often it is tried.
import { useCallback, useRef, useState } from "react";

import { escapePath, newKey, type Schemas } from "~/api/client";

export interface Upload {
  readonly key: string;
  readonly file: File;
  /** 0 to 1. */
  readonly progress: number;
  readonly state: "uploading" | "failed" | "done";
  readonly error: string;
  /** Where the entities read it, once it is there. */
  readonly path: string;
}

type Changed = (key: string, to: Partial<Upload>) => void;

/** Put a file into the run; an XMLHttpRequest, for a fetch does not tell how far it is. */
function put(agent: string, { key, file }: Upload, changed: Changed): XMLHttpRequest {
  const request = new XMLHttpRequest();
  request.open("PUT", `/agents/${escapePath(agent)}/attachments/${encodeURIComponent(file.name)}`);
  request.setRequestHeader("Idempotency-Key", key);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.upload.onprogress = ({ loaded, total }) => {
    if (total > 0) changed(key, { progress: loaded / total });
  };
  request.onload = () => {
    if (request.status < 300) {
      const { path } = JSON.parse(request.responseText) as Schemas["AttachmentView"];
      changed(key, { state: "done", progress: 1, path });
    } else changed(key, { state: "failed", error: detailOf(request) });
  };
  request.onerror = () => changed(key, { state: "failed", error: "" });
  request.send(file);
  return request;
}

function detailOf(request: XMLHttpRequest): string {
  try {
    return (JSON.parse(request.responseText) as Schemas["ProblemView"]).detail;
  } catch {
    return request.statusText;
  }
}

export function useUploads(agent: string) {
  const [all, setAll] = useState<readonly Upload[]>([]);
  const requests = useRef(new Map<string, XMLHttpRequest>());
  const changed: Changed = useCallback((key, to) => {
    setAll((known) => known.map((one) => (one.key === key ? { ...one, ...to } : one)));
  }, []);
  const begin = (one: Upload) => requests.current.set(one.key, put(agent, one, changed));
  return {
    all,
    add(files: Iterable<File>) {
      const fresh = Array.from(files, (file): Upload => {
        return { key: newKey(), file, progress: 0, state: "uploading", error: "", path: "" };
      });
      setAll((known) => [...known, ...fresh]);
      fresh.forEach(begin);
    },
    retry(one: Upload) {
      changed(one.key, { state: "uploading", progress: 0, error: "" });
      begin(one);
    },
    remove(key: string) {
      requests.current.get(key)?.abort();
      setAll((known) => known.filter((one) => one.key !== key));
    },
    clear: () => setAll([]),
  };
}
