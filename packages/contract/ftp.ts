/** FTP accounts, each shut in its website's directory. */
import Type from "typebox";
import { Id, oneOf, Timestamp, text } from "./fields.ts";
import { FtpUsername, ServicePassword } from "./fields-hosting.ts";
import { data, list, message, onWebsite, operation } from "./operation.ts";

export const FtpAccount = Type.Object({
  fid: Id("fid"),
  username: text({}, "shop-ftp"),
  directory: text({ description: "The website's root." }, "/home/deploy/example.com"),
  status: oneOf(["pending", "active", "failed"], "active"),
  created_at: Timestamp,
});

export const ftp = {
  create: operation({
    method: "POST", path: onWebsite("/ftp"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Create an FTP account; connections must be encrypted",
    body: Type.Object({ username: FtpUsername, password: ServicePassword }),
    reply: data(FtpAccount), status: 201, faults: ["name_taken", "website_not_active"],
  }),
  list: operation({
    method: "GET", path: onWebsite("/ftp"), scope: "website", effect: "read", needs: "sites:read",
    summary: "List the website's FTP accounts",
    reply: list(FtpAccount),
  }),
  delete: operation({
    method: "DELETE", path: onWebsite("/ftp/{fid}"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Delete an FTP account; files stay",
    reply: message("FTP account deleted."),
  }),
};
