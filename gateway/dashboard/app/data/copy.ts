/**
 * Copies a text. Also on plain HTTP, where browsers offer no clipboard API: there the text of `element` is selected and
 * copied by a command. False if it could not be copied; the text of `element` is selected then.
 */
export async function copyText(text: string, element: HTMLElement | null): Promise<boolean> {
  if (await copyByClipboard(text)) return true;
  select(element);
  return copySelection();
}

async function copyByClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function copySelection(): boolean {
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  }
}

function select(element: HTMLElement | null): void {
  const selection = getSelection();
  if (!element || !selection) return;
  const range = document.createRange();
  range.selectNodeContents(element);
  selection.removeAllRanges();
  selection.addRange(range);
}
