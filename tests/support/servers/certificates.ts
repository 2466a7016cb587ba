import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServerCertificate } from "./postgres.ts";

/**
 * A certificate authority for tests, the certificate that it issued to a server, and an untrusted authority.
 */
export type TestCertificates = {
  readonly authority: string;
  readonly server: ServerCertificate;
  readonly otherAuthority: string;
};

/** Creates them in `folder`, with `openssl`; the server's is for `name` only. */
export function makeCertificates(folder: string, name: string): TestCertificates {
  const file = (of: string) => join(folder, of);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  for (const authority of ["ca", "other"])
    openssl(
      ...["req", "-x509", ...key, "-days", "2", "-subj", `/CN=${authority}`],
      ...["-keyout", `${authority}.key`, "-out", `${authority}.pem`],
    );
  writeFileSync(file("names"), `subjectAltName=DNS:${name}\n`);
  openssl("req", ...key, "-subj", `/CN=${name}`, "-keyout", "server.key", "-out", "server.csr");
  openssl(
    ...["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"],
    ...["-days", "2", "-extfile", "names", "-out", "server.pem"],
  );
  return {
    authority: file("ca.pem"),
    server: { cert: file("server.pem"), key: file("server.key") },
    otherAuthority: file("other.pem"),
  };
}
