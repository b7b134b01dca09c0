/** In what Weir decides otherwise than the reference: each amendment with its row of docs/differences.md. */

/** By name, the first column of its row. */
export const AMENDMENTS = {
  'denied takes nothing': 'charges every descriptor, also when another one denies',
  'not fitting takes nothing':
    'a shadow take that does not fit is counted, and a quota take that does not fit, also in a request that is allowed',
  'what is left is shown': 'over: `limit_remaining` 0',
  'duplicates are one sum':
    'a descriptor twice in a request: the first may pass and the second be denied; each status shows what was left after it (4, 3)',
  'a check needs a hit':
    'per-descriptor 0 on a counter that has just reached its limit, or of a limit of 0 (also an override without `requests_per_unit`): OK',
  'the overdraft ends': 'hits past the limit are counted without end',
  refunds: '`is_negative_hits` is not known (commits after f2fb157 know it): they are hits',
  'huge hits are denied': 'UInt64 `hits_addend` of 2^63 and more lowers the counter',
  'keys and values apart': '`a_b` + `c` and `a` + `b_c` are one rule and one counter',
  'a pattern is no value': 'a value that is itself a configured pattern (`foo*` sent as a value) is looked up exactly first',
  'windows apart': 'a request override of another unit may collide with the configured counter',
  'one counter for all': '`share_threshold` with a `*` in the key: a counter for each key',
  'errors have codes': 'every error is gRPC UNKNOWN',
  'all hits are over': '`over_limit` and `shadow_mode` count the part of the hits above the limit',
  'nothing taken is within no limit':
    'a denied request adds `within_limit` and `near_limit` to the rules that would have fitted, and `near_limit` to those that deny it, of the hits below the limit',
  'requests for no domain': '`domain_not_found` counts descriptors',
  'no value of an override': 'stats of an override have its values in their names, without bound',
  'keys as configured': 'a rule whose key has a `*` is counted under the key that was sent, and its pattern: `path_pa*` for a key `pa*`',
} as const;

export type Amendment = keyof typeof AMENDMENTS;
