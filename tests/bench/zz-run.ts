import { withEnds } from "./ends.ts";
import { benchStorage } from "./zz-downloads.ts";
await withEnds(async (onEnd) => { console.log(await benchStorage({ rounds: 3, largeBytes: 256 * 2 ** 20, smallFiles: 10_000, sdkBytes: 1 }, onEnd)); });
