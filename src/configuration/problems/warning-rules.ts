/** The warnings about a configuration: each rule by the name that `weir check` shows, and what it finds. */

export const WARNING_RULES = {
  'no-effect': 'a key that changes nothing where it stands',
  'control-characters': 'a `name` with control characters, each replaced with `?`',
  'missing-requests-per-unit': 'a limit without `requests_per_unit`, which counts as 0: every hit is over',
  'unreachable-descriptor':
    'a descriptor that no request can match: a key alone beside a wildcard for every value, or a wildcard after one for all of its values',
  'regular-expression': 'a key or value such as `^/api/.*$`: only a `*` stands for other text',
  'address-range': 'a value such as `10.0.0.0/8`, compared literally without `match: cidr`',
  'unknown-replaces': '`replaces` of a name that no limit of the domain has',
  'cost-never-fits': 'a limit that holds fewer hits at once than a request costs (1, or `--cost`), except `requests_per_unit: 0`',
  'long-window-alone': 'a limit of a day or longer that lets 100 hits or more pass at once, without one of a shorter window beside it',
  'unbounded-metric': '`detailed_metric` or `value_to_metric` where callers choose the value: one metric series for each value',
  'untested-rule': 'only with `--tests`: a rule that no test beside the configuration reaches',
} as const;

export type WarningRule = keyof typeof WARNING_RULES;
