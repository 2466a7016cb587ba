type Toast = { readonly kind: "success" | "error"; readonly text: string };

let show: ((toast: Toast) => void) | undefined;
const waiting: Toast[] = [];
let wake: (() => void) | undefined;

/** Says in a toast that something was done. */
export function toastSuccess(text: string): void {
  toast({ kind: "success", text });
}

/** Says in a toast why something failed. */
export function toastFailure(text: string): void {
  toast({ kind: "error", text });
}

function toast(one: Toast): void {
  if (show) {
    show(one);
    return;
  }
  waiting.push(one);
  wake?.();
}

/** Calls back when there is a first toast: what shows it is loaded then. */
export function onFirstToast(callback: () => void): () => void {
  wake = callback;
  if (waiting.length > 0) callback();
  return () => {
    wake = undefined;
  };
}

/** Shows every toast from now on, and those that waited. */
export function showToasts(by: (toast: Toast) => void): void {
  show = by;
  for (const one of waiting.splice(0)) by(one);
}
