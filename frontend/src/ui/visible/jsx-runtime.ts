// The JSX runtime of the page: React's own, but no text is shown with unseen characters. A file name
// or a command with U+202E would read as another one.
import { jsx as jsxOfReact, jsxs as jsxsOfReact } from "react/jsx-runtime";

import { visible } from "./visible";

export { Fragment, type JSX } from "react/jsx-runtime";

export const jsx: typeof jsxOfReact = (type, props, key) => jsxOfReact(type, visible(props), key);
export const jsxs: typeof jsxsOfReact = (type, props, key) => jsxsOfReact(type, visible(props), key);
