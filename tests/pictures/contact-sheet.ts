import type { Browser } from "playwright-core";

/** A picture of a page, with its name. */
export type Picture = { readonly name: string; readonly png: Buffer };

type Layout = { readonly columns: number; readonly columnWidth: number; readonly isDark: boolean };

const GAP = 16;
const QUALITY = 82;

/** Lays pictures out in a grid with their names, and returns it as JPEG. */
export async function drawSheet(
  browser: Browser,
  title: string,
  pictures: readonly Picture[],
  { columns, columnWidth, isDark }: Layout,
): Promise<Buffer> {
  const width = columns * (columnWidth + GAP) + GAP;
  const page = await browser.newPage({ viewport: { width, height: 800 } });
  const figures = pictures.map(
    ({ name, png }) =>
      `<figure><img src="data:image/png;base64,${png.toString("base64")}"><figcaption>${name}</figcaption></figure>`,
  );
  await page.setContent(`<style>
    body { margin: 0; padding: ${GAP}px; font: 15px system-ui; background: ${isDark ? "#222" : "#ddd"}; color: ${isDark ? "#eee" : "#111"} }
    h1 { font-size: 20px; margin: 0 0 ${GAP}px }
    main { display: grid; grid-template-columns: repeat(${columns}, ${columnWidth}px); gap: ${GAP}px }
    figure { margin: 0 } img { width: 100%; display: block; border-radius: 6px } figcaption { padding-top: 4px }
  </style><h1>${title}</h1><main>${figures.join("")}</main>`);
  await page.evaluate("Promise.all([...document.images].map((image) => image.decode()))");
  const sheet = await page.screenshot({ type: "jpeg", quality: QUALITY, fullPage: true });
  await page.close();
  return sheet;
}
