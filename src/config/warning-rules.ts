/** What a configuration is warned of: each rule by the name that `weir check` shows, and what it finds. */

export const WARNING_RULES = {
  'no-effect': 'a key that changes nothing where it stands',
  'missing-requests-per-unit': 'a limit without `requests_per_unit`, which counts as 0: every hit is over',
  'unreachable-descriptor': 'a descriptor that no request finds: a key alone behind a wildcard that takes every value, or a wildcard behind an earlier one that takes all that it would',
  'unknown-replaces': '`replaces` of a name that no limit of the domain has',
  'cost-never-fits': 'a limit that holds fewer hits at once than a request costs (1, or `--cost`), and so never lets one pass; `requests_per_unit: 0` says so openly, and is not warned of',
  'long-window-alone': 'a limit of a day or longer that lets 100 hits or more pass at once, with no limit of a shorter window beside it: all of it can be gone in a second',
  'unbounded-metric': '`detailed_metric` or `value_to_metric` where callers choose the value: a series of metrics for each',
} as const;

export type WarningRule = keyof typeof WARNING_RULES;
