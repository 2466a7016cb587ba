// @module-tag large
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** `(module (memory 1) (func (export "f") (param i32) (result i32) local.get 0 i32.load))` */
const MODULE = "0061736d0100000001060160017f017f03020100050301000107050101660000" + "0a0901070020002802000b";
const SHUTDOWN = new URL("../../../gateway/shutdown.ts", import.meta.url).href;

test("a trap in WebAssembly stays an exception in a process that ends gracefully", async () => {
  const script = `
    import { endGracefully } from "${SHUTDOWN}";
    endGracefully(async () => {}, console);
    const bytes = Buffer.from("${MODULE}", "hex");
    try {
      new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.f(1_000_000);
    } catch (error) {
      console.log(error.name);
    }
    process.exit();`;
  const args = ["--import", "tsx", "--input-type=module", "--eval", script];
  // Killed at the time limit if the trap repeats.
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    timeout: 300_000,
    killSignal: "SIGKILL",
  });
  expect(stdout).toBe("RuntimeError\n");
});
