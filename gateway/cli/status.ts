import { readPartialConfig } from "../../src/config.ts";
import { readCommandLine } from "./command-line.ts";
import { runOrExplain } from "./run-or-explain.ts";
import { readStatus, toBanner } from "./welcome.ts";

/** `npm run status`: what is running on this machine's data folder, as the banner or, with `--json`, as data. */
await runOrExplain(async () => {
  const { flags } = readCommandLine({ usage: "npm run status [-- --json]", flags: ["--json"] });
  const status = readStatus(readPartialConfig().DATA_DIR);
  const isUp =
    status !== undefined &&
    (await fetch(`${status.urls.origin}/healthz`).then(
      (reply) => reply.ok,
      () => false,
    ));
  if (flags.has("--json"))
    console.log(JSON.stringify(isUp ? { running: true, ...status } : { running: false }));
  else
    console.log(
      isUp && status ? toBanner(status) : "zerograph is not running here. Start it with: npm start",
    );
  process.exitCode = isUp ? 0 : 1;
});
