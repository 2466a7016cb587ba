import { statSync } from "node:fs";
import { type Config, readVariable } from "../../src/config.ts";
import { readMeasurements } from "../../src/inference/attestation/measurements-file.ts";
import { FileProviders } from "../../src/inference/providers/sources/provider-source.file.ts";
import { StartupError } from "../../src/kernel/errors.ts";
import { readTrustedDocuments } from "../federation/policy/trusted-documents.ts";

/**
 * Reads the files that settings name before anything is opened, so that a start which is refused for one of them has
 * created nothing. They are read again where they are used. Throws a `StartupError` that names the setting and the file.
 */
export async function requireFiles(config: Config): Promise<void> {
  const { PROVIDERS_FILE, ATTESTATION_MEASUREMENTS, TRUSTED_DOCUMENTS, TRUSTED_DOCUMENTS_ONLY } = config;
  // The content of a pipe, or of a device, cannot be read again.
  for (const [name, path] of Object.entries({ PROVIDERS_FILE, ATTESTATION_MEASUREMENTS, TRUSTED_DOCUMENTS }))
    if (path !== undefined && statSync(path, { throwIfNoEntry: false })?.isFile() === false)
      throw new StartupError(`${name}: ${path} is not a file.`);
  if (PROVIDERS_FILE !== undefined)
    await new FileProviders({ path: PROVIDERS_FILE, variable: readVariable }).load();
  if (ATTESTATION_MEASUREMENTS !== undefined) readMeasurements(ATTESTATION_MEASUREMENTS);
  if (TRUSTED_DOCUMENTS !== undefined)
    readTrustedDocuments(TRUSTED_DOCUMENTS, TRUSTED_DOCUMENTS_ONLY === "on");
}
