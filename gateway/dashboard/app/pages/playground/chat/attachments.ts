export const MAX_IMAGES = 4;
/** In base64 four of them stay below what the gateway accepts of a prompt by default, 32 MiB. */
const MAX_IMAGE_BYTES = 4 * 1_048_576;
export const IMAGE_TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/** Images that were read, and why others were not. */
export type ReadImages = { readonly images: readonly string[]; readonly problem?: string | undefined };

/** Images as data URLs, as many as there is room for. */
export async function readImages(files: readonly File[], room: number): Promise<ReadImages> {
  const fitting = files.filter((file) => problemOf(file) === undefined);
  const problems = files.flatMap((file) => problemOf(file) ?? []);
  if (fitting.length > room) problems.push(`A question takes up to ${MAX_IMAGES} images.`);
  const read = await Promise.all(fitting.slice(0, Math.max(0, room)).map(readImage));
  const images = read.flatMap(({ image }) => image ?? []);
  problems.push(...read.flatMap(({ problem }) => problem ?? []));
  return { images, problem: problems[0] };
}

/** An image that the browser can decode: what a file is named says little about what it contains. */
async function readImage(file: File): Promise<{ readonly image?: string; readonly problem?: string }> {
  try {
    const decoded = await createImageBitmap(file);
    decoded.close();
    return { image: await toDataUrl(file) };
  } catch {
    return { problem: `${file.name || "The file"} cannot be read as an image.` };
  }
}

function problemOf({ name, type, size }: File): string | undefined {
  if (!IMAGE_TYPES.includes(type)) return `${name || "The file"} is no PNG, JPEG, WebP or GIF image.`;
  if (size > MAX_IMAGE_BYTES) return `${name || "The image"} is larger than 4 MiB.`;
  return undefined;
}

function toDataUrl(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.onload = () => resolve(String(reader.result));
  reader.onerror = () => reject(reader.error ?? new Error(`${file.name} could not be read.`));
  reader.readAsDataURL(file);
  return promise;
}
