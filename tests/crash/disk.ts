import { withEnds } from "../bench/ends.ts";
import { startNetwork } from "../support/chain/network.ts";
import { COPY_FORMS, type CopyForm, judgeCopies } from "./copies.ts";
import { openCrashWorld } from "./world.ts";

/**
 * `npm run test:disk`: copies the folder of the embedded database and the stored files under load, and starts the
 * product on each copy. DISK_COPIES is the number of copies of each form. Exits with 1 if a copy of one instant has
 * lost something; the other forms are only measured.
 */
const COPIES = Number(process.env.DISK_COPIES ?? 20);

await withEnds(async (onEnd) => {
  const { rpcUrl } = await startNetwork(onEnd);
  const world = await openCrashWorld({ name: "PGlite" }, rpcUrl, onEnd);
  await world.start();
  const results = [];
  for (const form of Object.keys(COPY_FORMS) as CopyForm[]) {
    const found = await judgeCopies(world, { form, copies: COPIES, rpcUrl, onEnd });
    const broken = found.filter(({ faults }) => faults.length > 0);
    for (const { faults } of broken) console.error(`${form}: ${faults[0]}`);
    const sum = (name: "chats" | "segments") => found.reduce((total, copy) => total + copy[name], 0);
    results.push({
      form,
      copies: found.length,
      chats: sum("chats"),
      segments: sum("segments"),
      broken: broken.length,
    });
  }
  console.table(results);
  if (results.some(({ form, broken }) => form === "one instant" && broken > 0)) process.exitCode = 1;
});
