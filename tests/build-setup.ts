import { execFileSync } from "node:child_process";

/** Builds the product, which the tests of whole processes run as it is deployed: it starts in half the time of its sources. */
export function setup(): void {
  execFileSync("npm", ["run", "--silent", "build"], { stdio: ["ignore", "ignore", "inherit"] });
}
