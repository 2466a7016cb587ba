declare global {
  /** Where react-remove-scroll, which Mantine's dialogs use, looks for the nonce of the styles that it adds. */
  var __webpack_nonce__: string | undefined;
}

/** The nonce of this page, with which its content security policy allows styles added by components. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
}

/** Gives the nonce to libraries that add styles outside React. */
export function shareNonce(): void {
  globalThis.__webpack_nonce__ = styleNonce();
}
