/** A segment that is refused: trying it again does not help. */
export class SegmentRefused extends Error {
  readonly segment: number;

  constructor(segment: number, message: string) {
    super(message);
    this.name = "SegmentRefused";
    this.segment = segment;
  }
}

/** A failure that passes: the network is down, or the gateway is busy. */
export class Passing extends Error {}
