export const login = {
  title: "Log in",
  about: "Type this command on the machine where Agiraph runs, and open the link that it prints:",
  orUi: "or, to open the browser directly:",
  waiting: "This page continues by itself when you are logged in.",
  code: "Paste a code",
  away: "Agiraph does not answer; trying again.",
};
