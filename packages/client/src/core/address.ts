/**
 * The address of a gateway without the slashes at its end. Throws a `TypeError` unless it is one of HTTP, or a path of
 * the page's own server.
 */
export function addressOf(url: string): string {
  const isPath = url.startsWith("/") && !url.startsWith("//");
  if (!isPath && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)))
    throw new TypeError(`url: ${url} is not an address such as https://router.example.`);
  return url.replace(/\/+$/, "");
}
