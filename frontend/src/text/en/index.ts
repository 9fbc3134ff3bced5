// Every text that a person sees, in English: a file for each page.
import { admin } from "./admin";
import { agents } from "./agents";
import { app } from "./app";
import { board } from "./board";
import { common } from "./common";
import { communication } from "./communication";
import { knowledge } from "./knowledge";
import { conversation } from "./conversation";
import { events } from "./events";
import { files } from "./files";
import { health } from "./health";
import { login } from "./login";
import { memory } from "./memory";
import { newAgent } from "./newAgent";
import { outcome } from "./outcome";
import { plans } from "./plans";
import { questions } from "./questions";
import { result } from "./result";
import { settings } from "./settings";
import { status } from "./status";
import { roles } from "./roles";
import { timeline } from "./timeline";
import { triggers } from "./triggers";
import { usage } from "./usage";
import { worker } from "./worker";

export const en = {
  admin,
  agents,
  app,
  board,
  common,
  communication,
  knowledge,
  conversation,
  events,
  files,
  health,
  login,
  memory,
  newAgent,
  outcome,
  plans,
  questions,
  result,
  settings,
  status,
  roles,
  timeline,
  triggers,
  usage,
  worker,
};

export type Texts = typeof en;
