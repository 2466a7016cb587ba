// @module-tag large
import { LINE_FAULT_ROWS } from "../../support/inference/fault-rows.ts";
import { testFaults } from "../../support/inference/fault-runner.ts";

await testFaults(LINE_FAULT_ROWS);
