// Saving what the page has, or what is at an address, as a file on the person's machine.

/** Have the browser save what is at an address. */
export function saveFrom(address: string, name = ""): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

/** Have the browser save a text as a file. */
export function saveText(text: string, name: string, type = "text/plain"): void {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  saveFrom(address, name);
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
