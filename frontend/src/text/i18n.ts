// The languages: English is in the page, another one is fetched when it is wanted.
import i18next from "i18next";
import { initReactI18next } from "react-i18next";

import { en, type Texts } from "./en";

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "app";
    resources: Texts;
  }
}

export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;

const KEPT_AS = "agiraph.language";
const OTHERS: Record<Exclude<Language, "en">, () => Promise<Texts>> = {
  de: () => import("./de").then((module) => module.de),
};

const isLanguage = (name: string): name is Language => name in LANGUAGES;

/** Return the language that was chosen here, else the first of the browser's that there is. */
export function wantedLanguage(kept: string | null, browser: readonly string[]): Language {
  const wanted = [kept ?? "", ...browser.map((name) => name.slice(0, 2).toLowerCase())];
  return wanted.find(isLanguage) ?? "en";
}

export async function setLanguage(language: Language): Promise<void> {
  if (language !== "en" && !i18next.hasResourceBundle(language, "app")) {
    const texts = await OTHERS[language]();
    for (const [name, part] of Object.entries(texts)) {
      i18next.addResourceBundle(language, name, part);
    }
  }
  localStorage.setItem(KEPT_AS, language);
  document.documentElement.lang = language;
  await i18next.changeLanguage(language);
}

export async function startTexts(): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: "en",
    fallbackLng: "en",
    defaultNS: "app",
    resources: { en },
    interpolation: { escapeValue: false }, // React escapes
  });
  const language = wantedLanguage(localStorage.getItem(KEPT_AS), navigator.languages);
  if (language !== "en") await setLanguage(language);
}
