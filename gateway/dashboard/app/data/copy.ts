/**
 * Copies a text. Also on plain HTTP, where browsers offer no clipboard API: there it is copied by a command, for which
 * `element`, or else an element of its own, is selected. False if it could not be copied; the text of `element` is
 * selected then.
 */
export async function copyText(text: string, element: HTMLElement | null): Promise<boolean> {
  if (await copyByClipboard(text)) return true;
  if (element) return copyBySelection(text, element);
  const own = document.createElement("span");
  own.className = "copied-text";
  own.textContent = text;
  document.body.append(own);
  try {
    return copyBySelection(text, own);
  } finally {
    own.remove();
  }
}

/** What is said where a text that could not be copied is not shown whole: with the text, which can be selected there. */
export function notCopied(text: string): string {
  return `Copying failed. Select it here: ${text}`;
}

async function copyByClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** The command copies what is selected, which may be a part of the text only: its event is given the text. */
function copyBySelection(text: string, element: HTMLElement): boolean {
  select(element);
  let isCopied = false;
  const give = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
    isCopied = event.clipboardData !== null;
  };
  document.addEventListener("copy", give, { capture: true });
  try {
    return document.execCommand("copy") && isCopied;
  } catch {
    return false;
  } finally {
    document.removeEventListener("copy", give, { capture: true });
  }
}

function select(element: HTMLElement): void {
  const selection = getSelection();
  if (!selection) return;
  const range = document.createRange();
  range.selectNodeContents(element);
  selection.removeAllRanges();
  selection.addRange(range);
}
