/**
 * Settings for a product whose test is not about slow providers: on a busy machine none is given up, and no call goes
 * to a dearer one.
 */
export const PATIENT_PROVIDERS = { PROVIDER_CONNECT_MS: "60000", PROVIDER_FIRST_BYTE_MS: "300000" } as const;
