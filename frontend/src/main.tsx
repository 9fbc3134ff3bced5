// The start: what the policy allows, the looks, the language, then the page.
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import "./ui/tokens.css";
import { App } from "./app/App";
import { fetchFirst } from "./app/routes";
import { startTheme } from "./app/theme";
import { startTexts } from "./text/i18n";

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
if (nonce) setNonce(nonce);
startTheme();
await Promise.all([startTexts(), fetchFirst(window.location.pathname)]);

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
