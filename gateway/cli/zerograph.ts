/**
 * `zerograph <role or command> [arguments]`: the one program of an installation without npm, such as the container
 * image. Commands have the names of their npm scripts; anything else is a role of `main.ts`.
 */
const COMMANDS: Readonly<Record<string, () => Promise<unknown>>> = {
  status: () => import("./status.ts"),
  migrate: () => import("./migrate.ts"),
  "watcher:accept": () => import("./accept-reorg.ts"),
  "node:doctor": () => import("./doctor.ts"),
  "ledger:verify": () => import("./verify-ledger.ts"),
  retention: () => import("./retention.ts"),
  "usage:rebuild": () => import("./rebuild-usage.ts"),
};

const [, , name = ""] = process.argv;
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (["help", "--help", "-h"].includes(name))
  console.log(
    `zerograph [all | gateway | subgraph NAME | worker]\nzerograph ${Object.keys(COMMANDS).join(" | ")}`,
  );
else {
  // The commands read their arguments from the third word on, as when npm starts them.
  if (command) process.argv.splice(2, 1);
  await (command ?? (() => import("../main.ts")))();
}
