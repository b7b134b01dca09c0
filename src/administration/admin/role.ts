/** The roles of callers of the admin API. */

/** From the fewest rights to the most: a role may do what those before it may. The role `tenant` sees the usage of one tenant. */
export const ROLES = ['tenant', 'viewer', 'support', 'admin'] as const;

export type Role = (typeof ROLES)[number];

/** The authenticated sender of a request. */
export interface Caller {
  /** For the audit log: the name of the token, or the subject of the JWT. */
  readonly name: string;
  readonly role: Role;
  /** The only tenant that it may see. Present for the role `tenant`. */
  readonly tenant?: TenantName;
}

export interface TenantName {
  readonly domain: string;
  readonly tenant: string;
}

export function isRole(text: unknown): text is Role {
  return ROLES.some((role) => role === text);
}

export function mayActAs(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** Undefined: there is none among them. */
export function highestRole(texts: readonly unknown[]): Role | undefined {
  return ROLES.findLast((role) => texts.includes(role));
}
