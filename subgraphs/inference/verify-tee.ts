/** The description of every `verifyTee` of a request that is billed. */
export const VERIFY_TEE = "Whether to verify the provider's signature of the response. Default: false.";
