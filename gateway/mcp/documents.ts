/** Submits an image job. Its variables are the arguments of the tool, so that errors name those. */
export const SUBMIT_IMAGE = `mutation SubmitImage(
  $model: String!
  $prompt: String!
  $n: Int
  $size: String
  $idempotencyKey: String
) {
  submitImageJob(
    input: { model: $model, prompt: $prompt, n: $n, size: $size, idempotencyKey: $idempotencyKey }
  ) { imageJob { id jobId } userErrors { field message code } }
}`;

/** The steps of an image job until it ends. */
export const FOLLOW_IMAGE = `subscription FollowImage($id: ID!) {
  imageJobProgress(id: $id) { step status fraction }
}`;

/** The images of a job, and its bill. */
export const READ_IMAGE = `query ReadImage($id: ID!) {
  imageJob(id: $id) {
    jobId
    status
    images { b64Json revisedPrompt root }
    errorCode
    errorMessage
    bill { requestId cost { total } }
  }
}`;

/** The newest requests of the caller's account. */
export const LIST_REQUESTS = `query ListRequests($first: Int!) {
  viewer { account { requests(first: $first) { nodes { requestId modelId status createdAt } } } }
}`;

/** One request in full. */
export const READ_REQUEST = `query ReadRequest($id: ID!) {
  request(id: $id) {
    requestId status modelId inputTokens outputTokens createdAt errorCode
    cost { input output total }
    timing { firstByteMs durationMs }
    provider { address trustMode }
  }
}`;

/** The newest files of the network. */
export const LIST_FILES = `query ListFiles($first: Int!) {
  files(first: $first) { nodes { root sizeBytes } }
}`;

/** All of these. */
export const MCP_DOCUMENTS: ReadonlySet<string> = new Set([
  SUBMIT_IMAGE,
  FOLLOW_IMAGE,
  READ_IMAGE,
  LIST_REQUESTS,
  READ_REQUEST,
  LIST_FILES,
]);
