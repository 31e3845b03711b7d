/** Certificates: one for a website, issued for free or uploaded. */
import Type from "typebox";
import { flag, Id, moment, Nullable, oneOf, Timestamp, text } from "./fields.ts";
import { CertificatePem, PrivateKeyPem } from "./fields-hosting.ts";
import { data, message, onWebsite, operation } from "./operation.ts";

export const Certificate = Type.Object({
  wid: Id("wid"),
  type: oneOf(["free", "custom"]),
  status: oneOf(["issuing", "active", "failed"], "active"),
  domains: Type.Array(text({}, "example.com")),
  issuer: text({ description: "Empty until it is issued, like serial and fingerprint." }, "CN=Example CA R1, O=Example CA"),
  serial: text({}, "04d2a7c1b69e3f58"),
  fingerprint: text({ description: "SHA-256 in hexadecimal." }, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
  not_before: Nullable(Timestamp),
  not_after: Nullable(moment("2027-02-13T09:30:00.000Z")),
  auto_renew: flag(true),
});

export const ssl = {
  install_free: operation({
    method: "POST", path: onWebsite("/ssl/free"), scope: "website", effect: "change", needs: "sites:write", class: "queued", rate: "acme",
    summary: "Issue and install a free certificate for all names of the website",
    reply: message("Certificate issuance started."), faults: ["certificate_busy", "certificate_exists", "website_not_active"],
  }),
  upload: operation({
    method: "POST", path: onWebsite("/ssl/custom"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Install an uploaded certificate; the private key is sealed to the server and not kept",
    body: Type.Object({ certificate: CertificatePem, private_key: PrivateKeyPem }),
    reply: data(Certificate), warns: true, faults: ["certificate_busy"],
  }),
  delete: operation({
    method: "DELETE", path: onWebsite("/ssl"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Remove the certificate; the website goes on over HTTP",
    reply: message("Certificate removed."), faults: ["certificate_busy"],
  }),
  renew: operation({
    method: "POST", path: onWebsite("/ssl/renew"), scope: "website", effect: "change", needs: "sites:write", class: "queued", rate: "acme",
    summary: "Renew the free certificate before it is due",
    reply: message("Certificate renewal started."), faults: ["not_free_certificate", "certificate_busy"],
  }),
  get: operation({
    method: "GET", path: onWebsite("/ext/ssl"), scope: "website", effect: "read", needs: "sites:read",
    summary: "Get the installed certificate",
    reply: data(Certificate),
  }),
};
