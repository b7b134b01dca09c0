/** A plan: limits with a name, which tenants share without sharing buckets. */

import type { ByteString } from '../descriptor/descriptor';
import type { Limit } from './limit';

export interface Plan {
  readonly name: ByteString;
  /** Limits that count once for a tenant with the plan and all tenants below it. Absent: it has none. */
  readonly pool?: readonly Limit[];
  /** The plan of tenants below one with this plan, if they have none of their own. Absent: this plan says nothing about them. */
  readonly members?: ByteString;
  /** All of them apply; empty if the plan is `unlimited`. */
  readonly limits: readonly Limit[];
  readonly unlimited: boolean;
  /** Name of the limit of an unlimited plan. */
  readonly limitName: string;
  /** Names of limits that do not apply beside this plan. */
  readonly replaces: readonly string[];
}

/** The terms that make a rule the rule of tenants: the limits are those of the tenant's plan. */
export interface TenantTerms {
  /** Index of the entry whose value is the tenant. */
  readonly level: number;
  /** For tenants without a plan. */
  readonly defaultPlan: Plan;
  /** All plans of the domain, by name. */
  readonly plans: ReadonlyMap<ByteString, Plan>;
}
