/** Saves bytes as a file of the visitor's, as a download link would. */
export function saveFile(name: string, bytes: Blob): void {
  const url = URL.createObjectURL(bytes);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the bytes after this task.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
