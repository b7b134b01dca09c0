/** Why a written record has no effect, or only a part of it: a code for programs, and a sentence for people. */

/** By code: when a write has this warning. */
export const WARNINGS = {
  unknown_domain: 'the configuration in force has no such domain',
  unknown_key: 'no descriptor of the domain has a key of `entries`',
  no_rule: 'no rule matches a descriptor with these entries, or this tenant',
  nothing_to_replace: 'the rules that match have no rate limit',
  needs_name: 'a rule or plan has several limits, and `limit.name` is absent',
  unknown_limit: 'no limit has the name',
  unknown_place: 'the plan has no limit at the place of values without a name',
  impossible_values: 'the algorithm of the limit cannot count these values',
  shared_window: 'two limits would have one algorithm and window',
  hidden_by_block: 'a block denies the requests',
  hidden_by_pass: 'a pass lets the requests through',
  hidden_by_override: 'an override with more entries, more values or a later write wins',
  has_limits_of_its_own: 'a descriptor with limits of its own wins over the plan of the tenant',
  no_tenants: 'no descriptor of the domain has `tenant: true`',
  unknown_plan: 'the configuration has no such plan; only of stored records, which were written ahead of it',
  unknown_parent: 'the parent of a tenant has no record yet',
  no_candidate: 'the configuration has no candidate under the name of a rollout',
  no_key: 'neither a rollout nor the configuration names the key that divides the requests',
  no_change: 'what it says is in force already',
  shadow_mode: '`SHADOW_MODE` is on, so nothing is denied',
  no_such_record: 'no record with this key exists, so nothing is deleted',
  bucket_full: 'a bucket was full before all hits of a credit were given',
} as const satisfies Readonly<Record<string, string>>;

export type WarningCode = keyof typeof WARNINGS;

export interface Warning {
  readonly code: WarningCode;
  /** `none`: the record has no effect. `partial`: only a part of what it selects is changed. */
  readonly effect: 'none' | 'partial';
  readonly message: string;
}

/** Why a record has no effect on a descriptor. */
export interface Reason {
  readonly code: WarningCode;
  /** A sentence without a capital letter and a full stop: what is so, and what to do. */
  readonly message: string;
}

/** Most warnings of one answer. */
export const WARNINGS_MAX = 5;

/** Most names in a sentence. */
const NAMES_MAX = 10;

/** `"a", "b" and 3 more`. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map((name) => JSON.stringify(name));
  return names.length > NAMES_MAX ? `${shown.join(', ')} and ${names.length - NAMES_MAX} more` : shown.join(', ');
}
