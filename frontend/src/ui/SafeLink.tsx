// A link out of a text of others: it tells the target nothing, and leads to no program.
import type { ReactNode } from "react";

import { safeAddress } from "./links";

export function SafeLink({ href, children }: { href: string | undefined; children: ReactNode }) {
  const address = safeAddress(href ?? "");
  if (!address) return <span title={href}>{children}</span>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
