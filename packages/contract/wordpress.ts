/** WordPress on a website. Three of these GETs change things; the interface wants it so. */
import Type from "typebox";
import { moment, text } from "./fields.ts";
import { data, message, onWebsite, operation } from "./operation.ts";

export const WordPress = Type.Object({
  wp_version: text({}, "6.9.1"),
  admin_user: text({}, "admin_x4k9pq"),
  admin_email: text({}, "ada@example.com"),
  table_prefix: text({}, "wpk3f9_"),
});

export const MagicLink = Type.Object({
  url: text({ description: "Signs in once as the administrator." }, "https://example.com/wp-login.php?stead_token=5f0c1d7e"),
  expires_at: moment("2026-11-15T09:45:00.000Z"),
});

export const wordpress = {
  create: operation({
    method: "GET", path: onWebsite("/wordpress/create"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Install WordPress with a database of its own",
    reply: message("WordPress installation started."), faults: ["wordpress_exists", "website_not_active", "docroot_not_empty", "website_busy"],
  }),
  get: operation({
    method: "GET", path: onWebsite("/wordpress"), scope: "website", effect: "read", needs: "sites:read",
    summary: "Get the WordPress details",
    reply: data(WordPress),
  }),
  delete: operation({
    method: "GET", path: onWebsite("/wordpress/delete"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Uninstall WordPress after a safety backup: its files and its own database go",
    reply: message("WordPress removal started."), faults: ["website_busy"],
  }),
  magic_link: operation({
    method: "GET", path: onWebsite("/wordpress/magiclink"), scope: "website", effect: "change", needs: "sites:write", class: "live", rate: "sensitive",
    summary: "Make a link that signs in once as the administrator within 15 minutes",
    reply: data(MagicLink), secret: true, faults: ["server_not_ready", "already_performed"],
  }),
};
