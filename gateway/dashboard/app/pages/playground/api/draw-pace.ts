import { flushSync } from "react-dom";

/** How often a text that is coming is drawn: reading its Markdown costs more than receiving it. */
const DRAW_EVERY_MS = 80;
/** Drawing takes at most a quarter of the time, whatever the text and the machine. */
const SHARE = 4;

/** Decides when a text that is coming is drawn: less often, the longer drawing takes. */
export class DrawPace {
  #nextAt = 0;

  /** Draws if it is time to. `draw` sets the state of components. */
  draw(draw: () => void): void {
    const startedAt = performance.now();
    if (startedAt < this.#nextAt) return;
    flushSync(draw);
    const spentMs = performance.now() - startedAt;
    this.#nextAt = startedAt + Math.max(DRAW_EVERY_MS, SHARE * spentMs);
  }
}
