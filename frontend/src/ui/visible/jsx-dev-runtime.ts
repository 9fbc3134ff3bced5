// The same for development and for tests.
import { jsxDEV as jsxDevOfReact } from "react/jsx-dev-runtime";

import { visible } from "./visible";

export { Fragment, type JSX } from "react/jsx-dev-runtime";

export const jsxDEV: typeof jsxDevOfReact = (type, props, ...rest) =>
  jsxDevOfReact(type, visible(props), ...rest);
