// @module-tag large
import { batchSuite } from "../../support/batches/batch-suite.ts";

await batchSuite("embedded");
