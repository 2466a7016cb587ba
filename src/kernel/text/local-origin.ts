/** Whether pages of this origin come from a server on the machine of their browser, over http or https. */
export function isLocalOrigin(origin: string): boolean {
  return /^https?:\/\/(?:(?:[a-z0-9-]+\.)*localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(origin);
}
