import { setTimeout as sleep } from "node:timers/promises";
import type { Notice, Trip } from "./points.ts";

/** Kills the product at the nth notice of a kind. One for all kills of a run: it is armed for each. */
export class Tripwire {
  #armed: { readonly trip: Extract<Trip, { notice: Notice }>; readonly kill: () => void } | undefined;
  #left = 0;

  arm(trip: Extract<Trip, { notice: Notice }>, kill: () => void): void {
    this.#armed = { trip, kill };
    this.#left = trip.occurrence;
  }

  disarm(): void {
    this.#armed = undefined;
  }

  /** Called by the provider and by the clients. */
  note(notice: Notice): void {
    const armed = this.#armed;
    if (armed?.trip.notice !== notice || --this.#left !== 0) return;
    const { trip, kill } = armed;
    if (trip.delayMs === 0) kill();
    else void sleep(trip.delayMs).then(kill);
  }
}
