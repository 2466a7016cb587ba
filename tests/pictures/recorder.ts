import type { Browser, Page } from "playwright-core";

/** A recording in progress. */
export type Recording = {
  /** Ends it, and returns it as WebM. */
  stop(): Promise<Buffer>;
};

const BITS_PER_SECOND = 1_500_000;
const FRAMES_PER_SECOND = 25;

/** Records what a page shows. The browser itself encodes the frames, on a canvas of a second page. */
export async function record(browser: Browser, page: Page): Promise<Recording> {
  const { width, height } = page.viewportSize() ?? { width: 1_280, height: 800 };
  const context = await browser.newContext();
  const studio = await context.newPage();
  await studio.setContent(`<canvas width="${width}" height="${height}"></canvas>`);
  await studio.evaluate(`(() => {
    const canvas = document.querySelector("canvas");
    const drawing = canvas.getContext("2d");
    const chunks = [];
    const recorder = new MediaRecorder(canvas.captureStream(${FRAMES_PER_SECOND}), {
      mimeType: "video/webm;codecs=vp9", videoBitsPerSecond: ${BITS_PER_SECOND} });
    recorder.ondataavailable = ({ data }) => chunks.push(data);
    let last;
    // A canvas that is not drawn has no new frame, and then the recording would be shorter than what it shows.
    const redraw = setInterval(() => last && drawing.drawImage(last, 0, 0, ${width}, ${height}), ${1_000 / FRAMES_PER_SECOND});
    window.show = async (jpeg) => {
      last = await createImageBitmap(await (await fetch("data:image/jpeg;base64," + jpeg)).blob());
    };
    window.finish = () => new Promise((resolve) => {
      clearInterval(redraw);
      recorder.onstop = () => {
        const reader = new FileReader();
        reader.onload = () => resolve(reader.result.split(",")[1]);
        reader.readAsDataURL(new Blob(chunks));
      };
      recorder.stop();
    });
    recorder.start(1000);
  })()`);
  const session = await page.context().newCDPSession(page);
  session.on("Page.screencastFrame", ({ data, sessionId }) => {
    void studio.evaluate((jpeg) => (globalThis as unknown as Studio).show(jpeg), data).catch(() => {});
    void session.send("Page.screencastFrameAck", { sessionId }).catch(() => {});
  });
  await session.send("Page.startScreencast", {
    format: "jpeg",
    quality: 90,
    maxWidth: width,
    maxHeight: height,
  });
  return {
    async stop() {
      await session.send("Page.stopScreencast");
      const video = await studio.evaluate(() => (globalThis as unknown as Studio).finish());
      await context.close();
      return Buffer.from(video, "base64");
    },
  };
}

type Studio = { show(jpeg: string): Promise<void>; finish(): Promise<string> };
