import type { AppContext } from "../../app-context.ts";
import type { CatalogueService } from "../providers/catalogue.service.ts";
import type { ProviderClient } from "../providers/exchange/provider.client.ts";
import { AttestationsService } from "./attestations.service.ts";
import { CollateralClient } from "./collateral.client.ts";
import { readMeasurements } from "./measurements-file.ts";

/** The appraisal of attestations, where the operator has enabled it. */
type AttestationModule = { readonly attestations: AttestationsService; stop(): Promise<void> };

/**
 * Builds the appraisal of attestations; undefined if it is not enabled. On the development network it always is: the
 * quotes of stand-in providers fail before any collateral is needed. Throws a `StartupError`.
 */
export function createAttestationModule(
  { config, network, clock, log }: Pick<AppContext, "config" | "network" | "clock" | "log">,
  dependencies: { readonly providers: ProviderClient; readonly catalogue: CatalogueService },
): AttestationModule | undefined {
  const { ATTESTATION_COLLATERAL_URL: url, ATTESTATION_MEASUREMENTS: file } = config;
  if (url === undefined && network.id !== "devnet") return undefined;
  const client = url === undefined ? undefined : new CollateralClient({ url, clock, log });
  const attestations = new AttestationsService(
    { ...dependencies, collateral: client ?? NO_COLLATERAL, clock, log },
    {
      refreshMs: config.ATTESTATION_REFRESH_MS,
      statuses: config.ATTESTATION_STATUSES,
      failureLevel: client ? "warn" : "debug",
      allowed: file === undefined ? [] : readMeasurements(file),
    },
  );
  return {
    attestations,
    async stop() {
      await attestations.stop();
      await client?.close();
    },
  };
}

const NO_COLLATERAL: Pick<CollateralClient, "collateralFor" | "forget"> = {
  forget() {},
  collateralFor: () => Promise.reject(new Error("ATTESTATION_COLLATERAL_URL is not set")),
};
