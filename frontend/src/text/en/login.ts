export const login = {
  title: "Log in",
  about: "Type this where Agiraph runs, and open the link that it prints:",
  orUi: "or, to have the browser opened:",
  waiting: "This page goes on by itself once you are logged in.",
  code: "Paste a code",
  away: "Agiraph does not answer; trying again.",
};
