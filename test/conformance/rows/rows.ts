/** What envoyproxy/ratelimit does, line by line, as Weir must do it or as docs/differences.md says that it does. */

export interface Row {
  /** What the row shows. */
  readonly shows: string;
  /** Files in the order of their paths. */
  readonly config: string | readonly string[];
  readonly settings?: {
    readonly shadow?: boolean;
    readonly quota?: boolean;
    readonly mergeDomainConfig?: boolean;
    readonly calendarMonth?: boolean;
  };
  /** Seconds since 1970 at the first request; default: START. */
  readonly at?: number;
  /** In their order: a request and its answer; seconds that pass; a request and its resets. */
  readonly steps: readonly Step[];
}

type Step = readonly [asked: string, answered: string] | { readonly pass: number } | { readonly asked: string; readonly resets: string };

/** A Saturday, 01:56:00 UTC. */
export const START = 1_795_226_160;

/** A file of domain d with one descriptor for each line, whose limit comes after the arrow. */
function file(...descriptors: readonly string[]): string {
  return `domain: d\ndescriptors:\n${descriptors.map((descriptor) => `  - { ${descriptor} }\n`).join('')}`;
}

/** `5/hour` and further fields as a `rate_limit`. */
function limit(text: string, more = ''): string {
  const [requestsPerUnit, unit] = text.split('/');
  return `rate_limit: { unit: ${unit}, requests_per_unit: ${requestsPerUnit}${more} }`;
}

const K5 = file(`key: k, ${limit('5/hour')}`);

const KEYS: readonly Row[] = [
  {
    shows: 'a domain without descriptors is known, and nothing matches',
    config: 'domain: d\ndescriptors:\n',
    steps: [['k=v', 'OK: none']],
  },
  { shows: 'a document may begin with ---', config: `---\n${K5}`, steps: [['k=v', 'OK: 5/hour left 4']] },
  {
    shows: 'a key with a value, and no other value',
    config: file(`key: k, value: v, ${limit('5/hour')}`),
    steps: [
      ['k=v', 'OK: 5/hour left 4'],
      ['k=w', 'OK: none'],
    ],
  },
  {
    shows: 'a value that is a number is its text',
    config: file(`key: k, value: 1234, ${limit('5/hour')}`),
    steps: [['k=1234', 'OK: 5/hour left 4']],
  },
  {
    shows: 'a value that is a boolean is its text',
    config: file(`key: k, value: true, ${limit('5/hour')}`),
    steps: [['k=true', 'OK: 5/hour left 4']],
  },
  {
    shows: 'a value that is a float is its text (amended)',
    config: file(`key: k, value: 1.50, ${limit('5/hour')}`),
    steps: [['k=1.50', 'OK: 5/hour left 4']],
  },
  { shows: 'an empty value is a key alone', config: file(`key: k, value: "", ${limit('5/hour')}`), steps: [['k=v', 'OK: 5/hour left 4']] },
  {
    shows: 'without rate_limit a descriptor is let through',
    config: file('key: k, value: v', `key: k, ${limit('0/hour')}`),
    steps: [
      ['k=v', 'OK: none'],
      ['k=w', 'OVER_LIMIT: over 0/hour left 0'],
    ],
  },
  { shows: 'a null rate_limit is none', config: file('key: k, rate_limit: ~'), steps: [['k=v', 'OK: none']] },
  {
    shows: 'shadow_mode stands on the descriptor',
    config: file(`key: k, shadow_mode: true, ${limit('0/hour')}`),
    steps: [['k=v', 'OK: 0/hour left 0']],
  },
  {
    shows: 'quota_mode stands on the descriptor',
    config: file(`key: k, quota_mode: true, ${limit('0/hour')}`, `key: l, quota_mode: true, ${limit('1/hour')}`),
    steps: [['k=v + l=v', 'OK: over 0/hour left 0 & 1/hour left 0']],
  },
  ...['detailed_metric: true', 'value_to_metric: true', 'metadata: { any: [thing] }'].map((field) => ({
    shows: `${field} changes no answer`,
    config: file(`key: k, ${field}, ${limit('5/hour')}`),
    steps: [['k=v', 'OK: 5/hour left 4'] as const],
  })),
  {
    shows: 'share_threshold is one counter for all that match',
    config: file(`key: k, value: "a*", share_threshold: true, ${limit('2/hour')}`),
    steps: [
      ['k=ab', 'OK: 2/hour left 1'],
      ['k=ac', 'OK: 2/hour left 0'],
      ['k=a', 'OVER_LIMIT: over 2/hour left 0'],
    ],
  },
  {
    shows: 'without share_threshold each value has its own',
    config: file(`key: k, value: "a*", ${limit('2/hour')}`),
    steps: [
      ['k=ab', 'OK: 2/hour left 1'],
      ['k=ac', 'OK: 2/hour left 1'],
    ],
  },
  {
    shows: 'share_threshold above a limit shares that level alone',
    config: file(`key: k, value: "a*", share_threshold: true, descriptors: [{ key: l, ${limit('2/hour')} }]`),
    steps: [
      ['k=ab,l=1', 'OK: 2/hour left 1'],
      ['k=ac,l=1', 'OK: 2/hour left 0'],
      ['k=ac,l=2', 'OK: 2/hour left 1'],
    ],
  },
  {
    shows: 'the pattern itself, sent as a value, shares too',
    config: file(`key: k, value: "a*", share_threshold: true, ${limit('2/hour')}`),
    steps: [
      ['k=ab', 'OK: 2/hour left 1'],
      ['k=a*', 'OK: 2/hour left 0'],
    ],
  },
  {
    shows: 'share_threshold with a star in the key is one counter for all keys',
    config: file(`key: "a*", share_threshold: true, ${limit('2/hour')}`),
    steps: [
      ['ab=1', 'OK: 2/hour left 1'],
      ['ac=2', 'OK: 2/hour left 0'],
    ],
  },
  ...['second', 'minute', 'hour', 'day', 'week', 'month', 'year'].map((unit) => ({
    shows: `unit ${unit}, in any case`,
    config: file(`key: k, ${limit(`5/${unit}`)}`, `key: l, ${limit(`5/${unit.toUpperCase()}`)}`),
    steps: [['k=v + l=v', `OK: 5/${unit} left 4 & 5/${unit} left 4`] as const],
  })),
  {
    shows: 'a missing requests_per_unit is 0: always over',
    config: file('key: k, rate_limit: { unit: hour }'),
    steps: [['k=v', 'OVER_LIMIT: over 0/hour left 0']],
  },
  {
    shows: 'requests_per_unit is a uint32',
    config: file(`key: k, ${limit('4294967295/hour')}`),
    steps: [['k=v', 'OK: 4294967295/hour left 4294967294']],
  },
  {
    shows: 'numbers may be hexadecimal and have underscores',
    config: file(`key: k, ${limit('0x10/hour')}`, `key: l, ${limit('1_000/hour')}`),
    steps: [['k=v + l=v', 'OK: 16/hour left 15 & 1000/hour left 999']],
  },
  { shows: 'unlimited', config: file('key: k, rate_limit: { unlimited: true }'), steps: [['k=v', 'OK: unlimited 4294967295']] },
  {
    shows: 'requests_per_unit beside unlimited is ignored',
    config: file('key: k, rate_limit: { unlimited: true, requests_per_unit: 1 }'),
    steps: [
      ['k=v', 'OK: unlimited 4294967295'],
      ['k=v', 'OK: unlimited 4294967295'],
    ],
  },
  {
    shows: 'unlimited: no is limited',
    config: file('key: k, rate_limit: { unlimited: no, unit: hour, requests_per_unit: 5 }'),
    steps: [['k=v', 'OK: 5/hour left 4']],
  },
  { shows: 'the name is told', config: file(`key: k, ${limit('5/hour', ', name: basic')}`), steps: [['k=v', 'OK: 5/hour basic left 4']] },
  ...['yes', 'Yes', 'on', 'ON', 'y', 'true', 'TRUE'].map((word) => ({
    shows: `${word} is true`,
    config: file(`key: k, shadow_mode: ${word}, ${limit('0/hour')}`),
    steps: [['k=v', 'OK: 0/hour left 0'] as const],
  })),
  ...['no', 'No', 'off', 'OFF', 'n', 'false', '~'].map((word) => ({
    shows: `${word} is false`,
    config: file(`key: k, shadow_mode: ${word}, ${limit('0/hour')}`),
    steps: [['k=v', 'OVER_LIMIT: over 0/hour left 0'] as const],
  })),
];

const WILD = file(
  ...['"foo*"|5', 'foobar|7', '"foob*"|9', '"*"|11'].map(
    (each) => `key: ex, value: ${each.split('|')[0]}, ${limit(`${each.split('|')[1]}/hour`)}`,
  ),
  `key: ex, ${limit('13/hour')}`,
);
const NEST = file(
  `key: nest, value: 1, ${limit('1/hour')}, descriptors: [{ key: sub, value: x, ${limit('2/hour')} }]`,
  `key: nest, ${limit('3/hour')}, descriptors: [{ key: sub, ${limit('4/hour')} }]`,
);
const PATTERNS = file(
  ...['"a*z"|1', '"*mid*"|2', '"x*y*z"|3', '"end*"|4'].map(
    (each) => `key: k, value: ${each.split('|')[0]}, ${limit(`${each.split('|')[1]}/hour`)}`,
  ),
);

const MATCHING: readonly Row[] = [
  { shows: 'a star takes nothing, too', config: WILD, steps: [['ex=foo', 'OK: 5/hour left 4']] },
  { shows: 'an exact value beats a wildcard', config: WILD, steps: [['ex=foobar', 'OK: 7/hour left 6']] },
  { shows: 'the first wildcard declared beats a longer one', config: WILD, steps: [['ex=foobaz', 'OK: 5/hour left 4']] },
  { shows: 'a wildcard beats the key alone', config: WILD, steps: [['ex=zzz', 'OK: 11/hour left 10']] },
  { shows: 'an empty value is a value to *', config: WILD, steps: [['ex=', 'OK: 11/hour left 10']] },
  { shows: 'an empty value finds the key alone', config: K5, steps: [['k=', 'OK: 5/hour left 4']] },
  {
    shows: 'a star within',
    config: PATTERNS,
    steps: [
      ['k=az', 'OK: 1/hour left 0'],
      ['k=abcz', 'OK: 1/hour left 0'],
      ['k=abc', 'OK: none'],
    ],
  },
  {
    shows: 'stars around',
    config: PATTERNS,
    steps: [
      ['k=mid', 'OK: 2/hour left 1'],
      ['k=amidb', 'OK: 2/hour left 1'],
      ['k=md', 'OK: none'],
    ],
  },
  {
    shows: 'several stars, their texts in order',
    config: PATTERNS,
    steps: [
      ['k=xyz', 'OK: 3/hour left 2'],
      ['k=x1y2z', 'OK: 3/hour left 2'],
      ['k=xzy', 'OK: none'],
    ],
  },
  {
    shows: 'beginning and end do not overlap',
    config: file(`key: k, value: "ab*ba", ${limit('1/hour')}`),
    steps: [
      ['k=aba', 'OK: none'],
      ['k=abba', 'OK: 1/hour left 0'],
    ],
  },
  {
    shows: 'keys and values are case-sensitive',
    config: file(`key: k, value: v, ${limit('5/hour')}`),
    steps: [
      ['K=v', 'OK: none'],
      ['k=V', 'OK: none'],
    ],
  },
  {
    shows: 'no regular expressions',
    config: file(`key: k, value: "a.c", ${limit('5/hour')}`),
    steps: [
      ['k=abc', 'OK: none'],
      ['k=a.c', 'OK: 5/hour left 4'],
    ],
  },
  { shows: 'the parent alone has its own limit', config: NEST, steps: [['nest=1', 'OK: 1/hour left 0']] },
  { shows: 'the child has its own', config: NEST, steps: [['nest=1,sub=x', 'OK: 2/hour left 1']] },
  {
    shows: 'no way back to the default of a parent that did not match',
    config: NEST,
    steps: [
      ['nest=1,sub=y', 'OK: none'],
      ['nest=2,sub=y', 'OK: 4/hour left 3'],
    ],
  },
  {
    shows: 'a request that goes deeper is not limited',
    config: NEST,
    steps: [
      ['nest=1,sub=x,more=1', 'OK: none'],
      ['k=v', 'OK: none'],
    ],
  },
  {
    shows: 'a configuration that goes deeper does not limit',
    config: file(`key: k, descriptors: [{ key: l, ${limit('5/hour')} }]`),
    steps: [
      ['k=v', 'OK: none'],
      ['k=v,l=v', 'OK: 5/hour left 4'],
    ],
  },
  {
    shows: 'the order of entries matters',
    config: file(`key: k, descriptors: [{ key: l, ${limit('5/hour')} }]`),
    steps: [['l=v,k=v', 'OK: none']],
  },
  { shows: 'an unknown domain is not limited', config: K5, steps: [['other> k=v + l=v', 'OK: none & none']] },
  { shows: 'a descriptor without entries is not limited', config: K5, steps: [['()', 'OK: none']] },
  { shows: 'an empty domain is a bad request', config: K5, steps: [['> k=v', 'INVALID_ARGUMENT: rate limit domain must not be empty']] },
  {
    shows: 'no descriptors are a bad request',
    config: K5,
    steps: [['', 'INVALID_ARGUMENT: rate limit descriptor list must not be empty; send at least one']],
  },
  {
    shows: 'a_b with c is not a with b_c (amended)',
    config: file(`key: a_b, value: c, ${limit('5/hour')}`, `key: a, value: b_c, ${limit('7/hour')}`),
    steps: [
      ['a=b_c', 'OK: 7/hour left 6'],
      ['a_b=c', 'OK: 5/hour left 4'],
    ],
  },
  {
    shows: 'a_b alone stands beside a with b (amended)',
    config: file(`key: a_b, ${limit('5/hour')}`, `key: a, value: b, ${limit('7/hour')}`),
    steps: [
      ['a=b', 'OK: 7/hour left 6'],
      ['a_b=c', 'OK: 5/hour left 4'],
    ],
  },
  { shows: 'a pattern sent as a value is not looked up exactly (amended)', config: WILD, steps: [['ex=foob*', 'OK: 5/hour left 4']] },
  {
    shows: 'a star in a key',
    config: file(`key: "ke*", value: v, ${limit('5/hour')}`),
    steps: [
      ['key=v', 'OK: 5/hour left 4'],
      ['key=w', 'OK: none'],
    ],
  },
  {
    shows: 'a star in a key without a value takes any value (amended)',
    config: file(`key: "ke*y", ${limit('5/hour')}`),
    steps: [
      ['key=v', 'OK: 5/hour left 4'],
      ['ke=y', 'OK: none'],
    ],
  },
  {
    shows: 'an exact child of a wildcard',
    config: file(`key: k, value: "*", descriptors: [{ key: l, value: 1, ${limit('5/hour')} }]`),
    steps: [
      ['k=any,l=1', 'OK: 5/hour left 4'],
      ['k=other,l=1', 'OK: 5/hour left 4'],
    ],
  },
];

const MERGING: readonly Row[] = [
  {
    shows: 'descriptors of two files',
    config: [file(`key: k, ${limit('5/hour')}`), file(`key: l, ${limit('7/hour')}`)],
    settings: { mergeDomainConfig: true },
    steps: [['k=v + l=v', 'OK: 5/hour left 4 & 7/hour left 6']],
  },
  {
    shows: 'wildcards in the order of the files',
    config: [file(`key: k, value: "a*", ${limit('5/hour')}`), file(`key: k, value: "*b", ${limit('7/hour')}`)],
    settings: { mergeDomainConfig: true },
    steps: [['k=ab', 'OK: 5/hour left 4']],
  },
  {
    shows: 'an exact value of a later file beats a wildcard of an earlier',
    config: [file(`key: k, value: "a*", ${limit('5/hour')}`), file(`key: k, value: ab, ${limit('7/hour')}`)],
    settings: { mergeDomainConfig: true },
    steps: [['k=ab', 'OK: 7/hour left 6']],
  },
];

const REPLACING = file(
  `key: user, ${limit('1/hour', ', name: basic')}`,
  `key: vip, ${limit('9/hour', ', name: vip, replaces: [{ name: basic }]')}`,
  `key: mutual, ${limit('9/hour', ', name: mutual, replaces: [{ name: vip }, { name: basic }]')}`,
  'key: free, rate_limit: { unlimited: true, replaces: [{ name: basic }] }',
  'key: open, rate_limit: { unlimited: true, name: basic }',
  `key: shadow, shadow_mode: true, ${limit('9/hour', ', replaces: [{ name: basic }]')}`,
  `key: two, ${limit('9/hour', ', name: mutual2, replaces: [{ name: vip2 }]')}`,
  `key: too, ${limit('9/hour', ', name: vip2, replaces: [{ name: mutual2 }]')}`,
);

const REPLACES: readonly Row[] = [
  {
    shows: 'alone a limit applies',
    config: REPLACING,
    steps: [
      ['user=a', 'OK: 1/hour basic left 0'],
      ['user=a', 'OVER_LIMIT: over 1/hour basic left 0'],
    ],
  },
  {
    shows: 'what is replaced is not counted',
    config: REPLACING,
    steps: [
      ['user=a + vip=a', 'OK: none & 9/hour vip left 8'],
      ['user=a', 'OK: 1/hour basic left 0'],
    ],
  },
  { shows: 'in any order', config: REPLACING, steps: [['vip=a + user=a', 'OK: 9/hour vip left 8 & none']] },
  {
    shows: 'only within one request',
    config: REPLACING,
    steps: [
      ['vip=a', 'OK: 9/hour vip left 8'],
      ['user=a', 'OK: 1/hour basic left 0'],
    ],
  },
  {
    shows: 'a replaced limit still replaces',
    config: REPLACING,
    steps: [['user=a + vip=a + mutual=a', 'OK: none & none & 9/hour mutual left 8']],
  },
  { shows: 'two that replace each other both go', config: REPLACING, steps: [['two=a + too=a', 'OK: none & none']] },
  { shows: 'an unlimited one replaces', config: REPLACING, steps: [['user=a + free=a', 'OK: none & unlimited 4294967295']] },
  {
    shows: 'an unlimited one is not replaced',
    config: REPLACING,
    steps: [['open=a + vip=a', 'OK: unlimited 4294967295 & 9/hour vip left 8']],
  },
  { shows: 'one in shadow mode replaces', config: REPLACING, steps: [['user=a + shadow=a', 'OK: none & 9/hour left 8']] },
  {
    shows: 'an override replaces nothing',
    config: REPLACING,
    steps: [['user=a + vip=a @9/hour', 'OK: 1/hour basic left 0 & 9/hour left 8']],
  },
  { shows: 'an override is not replaced', config: REPLACING, steps: [['user=a @3/hour + vip=a', 'OK: 3/hour left 2 & 9/hour vip left 8']] },
];

const UNITS = file(...['second', 'minute', 'hour', 'day', 'week', 'month', 'year'].map((unit) => `key: ${unit}, ${limit(`5/${unit}`)}`));

const WINDOWS: readonly Row[] = [
  ...(
    [
      ['second', 1],
      ['minute', 60],
      ['hour', 240],
      ['day', 79_440],
      // From Thursday 00:00 UTC.
      ['week', 425_040],
      ['month', 1_029_840],
      ['year', 2_325_840],
    ] as const
  ).map(([unit, seconds]) => ({
    shows: `the ${unit} ends in ${seconds} s`,
    config: UNITS,
    steps: [{ asked: `${unit}=v`, resets: String(seconds) }],
  })),
  {
    shows: 'a window begins anew',
    config: UNITS,
    steps: [
      ['minute=v x5', 'OK: 5/minute left 0'],
      { pass: 59 },
      ['minute=v', 'OVER_LIMIT: over 5/minute left 0'],
      { pass: 1 },
      ['minute=v', 'OK: 5/minute left 4'],
    ],
  },
  { shows: 'a reset is in whole seconds, from 1 on', config: UNITS, at: START + 59.5, steps: [{ asked: 'minute=v', resets: '1' }] },
  {
    shows: 'each value has its own counter',
    config: K5,
    steps: [
      ['k=v', 'OK: 5/hour left 4'],
      ['k=w', 'OK: 5/hour left 4'],
    ],
  },
  {
    shows: 'the calendar month, with USE_CALENDAR_MONTH_RATE_LIMIT',
    config: UNITS,
    settings: { calendarMonth: true },
    steps: [{ asked: 'month=v', resets: String(Date.UTC(2026, 11, 1) / 1000 - START) }],
  },
];

const DECIDING: readonly Row[] = [
  {
    shows: 'the limit is reached, then passed',
    config: file(`key: k, ${limit('2/hour')}`),
    steps: [
      ['k=v', 'OK: 2/hour left 1'],
      ['k=v', 'OK: 2/hour left 0'],
      ['k=v', 'OVER_LIMIT: over 2/hour left 0'],
    ],
  },
  { shows: 'hits of the request count for each descriptor', config: K5, steps: [['3* k=v + k=w', 'OK: 5/hour left 2 & 5/hour left 2']] },
  { shows: 'hits of 0 are one', config: K5, steps: [['0* k=v', 'OK: 5/hour left 4']] },
  {
    shows: 'hits of a descriptor go before those of the request',
    config: K5,
    steps: [['3* k=v x1 + k=w', 'OK: 5/hour left 4 & 5/hour left 2']],
  },
  {
    shows: 'a descriptor of 0 hits is a check, which takes nothing',
    config: K5,
    steps: [
      ['k=v peek', 'OK: 5/hour left 5'],
      ['k=v', 'OK: 5/hour left 4'],
      ['k=v peek', 'OK: 5/hour left 4'],
    ],
  },
  {
    shows: 'a check of a counter that is used up is denied (amended)',
    config: K5,
    steps: [
      ['k=v x5', 'OK: 5/hour left 0'],
      ['k=v peek', 'OVER_LIMIT: over 5/hour left 0'],
    ],
  },
  {
    shows: 'a check of a counter past its limit is denied',
    config: K5,
    steps: [
      ['k=v x4', 'OK: 5/hour left 1'],
      ['k=v x4', 'OVER_LIMIT: over 5/hour left 0'],
      ['k=v peek', 'OVER_LIMIT: over 5/hour left 0'],
    ],
  },
  {
    shows: "a descriptor's own hits are charged past the limit, whatever the answer",
    config: file(`key: k, ${limit('5/hour')}`, `key: l, ${limit('9/hour')}`, `key: z, ${limit('0/hour')}`),
    steps: [
      ['k=v x7 + l=v x3 + z=v', 'OVER_LIMIT: over 5/hour left 0 & 9/hour left 6 & over 0/hour left 0'],
      ['k=v', 'OVER_LIMIT: over 5/hour left 0'],
      ['l=v', 'OK: 9/hour left 5'],
    ],
  },
  {
    shows: 'they stop one more limit below zero (amended)',
    config: K5,
    steps: [
      ['k=v x100', 'OVER_LIMIT: over 5/hour left 0'],
      ['k=v back6', 'OK: 5/hour left 1'],
    ],
  },
  {
    shows: 'hits are given back',
    config: K5,
    steps: [
      ['k=v x5', 'OK: 5/hour left 0'],
      ['k=v back2', 'OK: 5/hour left 2'],
      ['k=v back9', 'OK: 5/hour left 5'],
    ],
  },
  { shows: 'what is given back is never denied', config: file(`key: k, ${limit('0/hour')}`), steps: [['k=v back1', 'OK: 0/hour left 0']] },
  {
    shows: 'what does not fit takes nothing (amended)',
    config: K5,
    steps: [
      ['2* k=v', 'OK: 5/hour left 3'],
      ['4* k=v', 'OVER_LIMIT: over 5/hour left 0'],
      ['3* k=v', 'OK: 5/hour left 0'],
    ],
  },
  {
    shows: 'a quota that is over and does not deny shows what is left, and takes nothing (amended)',
    config: file(`key: k, quota_mode: true, ${limit('2/hour')}`, `key: l, quota_mode: true, ${limit('9/hour')}`),
    steps: [
      ['3* k=v + l=v', 'OK: over 2/hour left 2 & 9/hour left 6'],
      ['k=v + l=v', 'OK: 2/hour left 1 & 9/hour left 5'],
    ],
  },
  {
    shows: 'another descriptor of a denied request keeps its hits (amended)',
    config: file(`key: k, ${limit('5/hour')}`, `key: l, ${limit('0/hour')}`),
    steps: [
      ['k=v + l=v', 'OVER_LIMIT: 5/hour left 5 & over 0/hour left 0'],
      ['k=v', 'OK: 5/hour left 4'],
    ],
  },
  {
    shows: 'a descriptor twice is one sum (amended)',
    config: file(`key: k, ${limit('3/hour')}`),
    steps: [
      ['k=v + k=v', 'OK: 3/hour left 1 & 3/hour left 1'],
      ['k=v + k=v', 'OVER_LIMIT: over 3/hour left 0 & over 3/hour left 0'],
    ],
  },
  {
    shows: 'hits of 2^63 and more are denied (amended)',
    config: K5,
    steps: [
      ['k=v x18446744073709551615', 'OVER_LIMIT: over 5/hour left 0'],
      ['k=v', 'OVER_LIMIT: over 5/hour left 0'],
    ],
  },
  {
    shows: 'hits of 2^32 are denied',
    config: file(`key: k, ${limit('4294967295/hour')}`),
    steps: [['k=v x4294967296', 'OVER_LIMIT: over 4294967295/hour left 0']],
  },
];

const OVERRIDDEN = file(
  `key: k, shadow_mode: true, ${limit('2/hour', ', name: n, replaces: [{ name: m }]')}`,
  'key: free, rate_limit: { unlimited: true }',
  'key: white',
  `key: q, quota_mode: true, ${limit('2/hour')}`,
  `key: m, ${limit('2/hour', ', name: m')}`,
);

const OVERRIDES: readonly Row[] = [
  {
    shows: 'an override needs no rule',
    config: OVERRIDDEN,
    steps: [
      ['any=v @3/minute', 'OK: 3/minute left 2'],
      ['any=v @3/minute', 'OK: 3/minute left 1'],
    ],
  },
  { shows: 'in an unknown domain it is nothing', config: OVERRIDDEN, steps: [['other> k=v @3/minute', 'OK: none']] },
  {
    shows: 'it replaces a rule, without its name and modes',
    config: OVERRIDDEN,
    steps: [['k=v @0/hour', 'OVER_LIMIT: over 0/hour left 0']],
  },
  { shows: 'it replaces what is unlimited', config: OVERRIDDEN, steps: [['free=v @1/hour', 'OK: 1/hour left 0']] },
  { shows: 'it replaces what is let through', config: OVERRIDDEN, steps: [['white=v @1/hour', 'OK: 1/hour left 0']] },
  { shows: 'it is no quota', config: OVERRIDDEN, steps: [['q=v @0/hour + q=w', 'OVER_LIMIT: over 0/hour left 0 & 2/hour left 2']] },
  {
    shows: 'of the same unit it shares the counter',
    config: OVERRIDDEN,
    steps: [
      ['m=v', 'OK: 2/hour m left 1'],
      ['m=v @5/hour', 'OK: 5/hour left 3'],
      ['m=v', 'OVER_LIMIT: over 2/hour m left 0'],
    ],
  },
  {
    shows: 'of another unit it has its own (amended)',
    config: OVERRIDDEN,
    at: Date.UTC(2026, 0, 1) / 1000,
    steps: [
      ['m=v', 'OK: 2/hour m left 1'],
      ['m=v @5/minute', 'OK: 5/minute left 4'],
    ],
  },
  { shows: 'by the week', config: OVERRIDDEN, steps: [['any=v @3/week', 'OK: 3/week left 2']] },
  {
    shows: 'without a unit it is a bad request (amended)',
    config: OVERRIDDEN,
    steps: [
      ['k=v @3/unknown', 'INVALID_ARGUMENT: descriptors[0].limit.unit is UNKNOWN; set SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR'],
    ],
  },
  {
    shows: 'a lower one does not deny a later, higher one',
    config: OVERRIDDEN,
    steps: [
      ['any=v @1/hour', 'OK: 1/hour left 0'],
      ['any=v @1/hour', 'OVER_LIMIT: over 1/hour left 0'],
      ['any=v @9/hour', 'OK: 9/hour left 7'],
    ],
  },
  {
    shows: 'of a shared pattern it counts its own value',
    config: file(`key: k, value: "a*", share_threshold: true, ${limit('2/hour')}`),
    steps: [
      ['k=ab', 'OK: 2/hour left 1'],
      ['k=ab @5/hour', 'OK: 5/hour left 4'],
      ['k=ac', 'OK: 2/hour left 0'],
    ],
  },
];

const MODES = file(
  `key: k, ${limit('1/hour')}`,
  `key: over, ${limit('0/hour')}`,
  `key: shadow, shadow_mode: true, ${limit('0/hour')}`,
  `key: quota, quota_mode: true, ${limit('0/hour')}`,
  `key: rich, quota_mode: true, ${limit('9/hour')}`,
  `key: both, quota_mode: true, shadow_mode: true, ${limit('0/hour')}`,
  'key: free, quota_mode: true, rate_limit: { unlimited: true }',
);

const PATHS: readonly Row[] = [
  {
    shows: 'statuses stand in the order of the descriptors',
    config: MODES,
    steps: [['none=v + k=v + free=v', 'OK: none & 1/hour left 0 & unlimited 4294967295']],
  },
  { shows: 'one that is over denies the request', config: MODES, steps: [['none=v + over=v', 'OVER_LIMIT: none & over 0/hour left 0']] },
  { shows: 'shadow mode is OK with nothing left', config: MODES, steps: [['shadow=v', 'OK: 0/hour left 0']] },
  {
    shows: 'shadow mode beside one that is over',
    config: MODES,
    steps: [['shadow=v + over=v', 'OVER_LIMIT: 0/hour left 0 & over 0/hour left 0']],
  },
  { shows: 'the only quota over denies', config: MODES, steps: [['quota=v', 'OVER_LIMIT: over 0/hour left 0']] },
  { shows: 'all quotas over deny', config: MODES, steps: [['quota=v + quota=w', 'OVER_LIMIT: over 0/hour left 0 & over 0/hour left 0']] },
  {
    shows: 'one quota left lets through, and the status of the other says over',
    config: MODES,
    steps: [['quota=v + rich=v', 'OK: over 0/hour left 0 & 9/hour left 8']],
  },
  { shows: 'an unmatched descriptor is no quota', config: MODES, steps: [['quota=v + none=v', 'OVER_LIMIT: over 0/hour left 0 & none']] },
  {
    shows: 'an unlimited one is outside the count of quotas',
    config: MODES,
    steps: [['quota=v + free=v', 'OVER_LIMIT: over 0/hour left 0 & unlimited 4294967295']],
  },
  { shows: 'a quota in shadow mode is never over', config: MODES, steps: [['quota=v + both=v', 'OK: over 0/hour left 0 & 0/hour left 0']] },
  {
    shows: 'one that is no quota denies, whatever quotas say',
    config: MODES,
    steps: [['rich=v + over=v', 'OVER_LIMIT: 9/hour left 9 & over 0/hour left 0']],
  },
  {
    shows: 'SHADOW_MODE: statuses say over, the request is OK',
    config: MODES,
    settings: { shadow: true },
    steps: [['over=v + k=v', 'OK: over 0/hour left 0 & 1/hour left 0']],
  },
  {
    shows: 'SHADOW_MODE holds for overrides, too',
    config: MODES,
    settings: { shadow: true },
    steps: [['k=v @0/hour', 'OK: over 0/hour left 0']],
  },
  {
    shows: 'QUOTA_MODE: every descriptor is a quota',
    config: MODES,
    settings: { quota: true },
    steps: [['over=v + k=v', 'OK: over 0/hour left 0 & 1/hour left 0']],
  },
  {
    shows: 'QUOTA_MODE: all over deny',
    config: MODES,
    settings: { quota: true },
    steps: [['over=v + quota=v', 'OVER_LIMIT: over 0/hour left 0 & over 0/hour left 0']],
  },
  {
    shows: 'QUOTA_MODE: an unmatched descriptor is a quota that is never over',
    config: MODES,
    settings: { quota: true },
    steps: [['over=v + none=v', 'OK: over 0/hour left 0 & none']],
  },
  {
    shows: 'QUOTA_MODE: an unlimited one is outside the count',
    config: MODES,
    settings: { quota: true },
    steps: [['over=v + free=v', 'OVER_LIMIT: over 0/hour left 0 & unlimited 4294967295']],
  },
  {
    shows: 'QUOTA_MODE and SHADOW_MODE',
    config: MODES,
    settings: { quota: true, shadow: true },
    steps: [['over=v', 'OK: over 0/hour left 0']],
  },
  { shows: 'no reset without a limit', config: MODES, steps: [{ asked: 'none=v + k=v + free=v', resets: '- & 240 & -' }] },
];

/** By the part of the language or of the answers that they are about. */
export const ROWS: Readonly<Record<string, readonly Row[]>> = {
  'keys of a configuration': KEYS,
  matching: MATCHING,
  MERGE_DOMAIN_CONFIG: MERGING,
  replaces: REPLACES,
  windows: WINDOWS,
  'hits and decisions': DECIDING,
  overrides: OVERRIDES,
  'modes and statuses': PATHS,
};
