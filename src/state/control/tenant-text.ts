/** Reads the text of a tenant in its usual form, without parsing JSON: most of a million records are tenants. */

import { RECORD_BOUNDS, type TenantRecord } from './control-record';

/** Printable ASCII that JSON writes as it is, so that characters are bytes. */
const PLAIN = String.raw`[ !#-\[\]-~]`;

const TIME = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z`;

/** The text that `toText` writes for a tenant without an end; other texts are read in full. */
const TENANT = new RegExp(
  String.raw`^\{"kind":"tenant","domain":"(${PLAIN}+)","tenant":"(${PLAIN}+)","plan":"(${PLAIN}+)"(?:,"parent":"(${PLAIN}+)")?` +
    String.raw`(?:,"reason":"(${PLAIN}*)")?(?:,"author":"(${PLAIN}*)")?(?:,"created_at":"(${TIME})")?\}$`,
);

/** Undefined: it is not in this form, but may be a record. */
export function readTenantText(text: string): TenantRecord | undefined {
  if (!text.startsWith('{"kind":"tenant"')) return undefined;
  const found = TENANT.exec(text);
  if (found === null) return undefined;
  const [, domain = '', tenant = '', plan = '', parent, reason, author, createdAt] = found;
  const { domainBytes, nameBytes, reasonBytes, authorBytes } = RECORD_BOUNDS;
  if (domain.length > domainBytes || tenant.length > nameBytes || plan.length > nameBytes) return undefined;
  // A text that the full reading refuses.
  if (parent !== undefined && (parent.length > nameBytes || parent === tenant)) return undefined;
  if ((reason?.length ?? 0) > reasonBytes || (author?.length ?? 0) > authorBytes) return undefined;
  if (parent === undefined && reason === undefined && author === undefined && createdAt === undefined)
    return { kind: 'tenant', domain, tenant, plan };
  return {
    kind: 'tenant',
    domain,
    ...(reason !== undefined && { reason }),
    ...(author !== undefined && { author }),
    ...(createdAt !== undefined && { createdAtMs: Date.parse(createdAt) }),
    tenant,
    plan,
    ...(parent !== undefined && { parent }),
  };
}
