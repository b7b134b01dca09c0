/** Plans give tenants their limits, and an invalid plan is refused with its place. */

import { describeRules } from '../../../src/configuration/source/describe-rules';
import { compileConfig, compileText, problemsOf, problemsOfFiles } from './compile-config';

const PLANS = `plans:
  free: { rate_limit: { unit: minute, requests_per_unit: 100, name: free } }
  big: { rate_limits: [{ unit: minute, requests_per_unit: 5000 }, { unit: day, requests_per_unit: 90000 }] }
  staff: { rate_limit: { unlimited: true } }
`;

const withDescriptor = (fields: string, plans = PLANS): string => `domain: d\n${plans}descriptors:\n  - { ${fields} }\n`;

test('the limits of a tenant descriptor are those of its default plan', () => {
  const domain = compileText(withDescriptor('key: merchant, tenant: true, default_plan: big')).domains.get('d');
  expect([...(domain?.plans?.keys() ?? [])]).toEqual(['free', 'big', 'staff']);
  const rule = domain?.root.byKey.get('merchant')?.rule;
  expect(rule?.limits).toMatchObject([{ requestsPerUnit: 5000 }, { requestsPerUnit: 90_000 }]);
  expect(rule?.tenant).toMatchObject({ level: 0, defaultPlan: { name: 'big' } });
});

test('a pattern, a deeper level and requests in flight go with tenants', () => {
  const ruleSet = compileText(`domain: d
${PLANS}descriptors:
  - key: endpoint
    descriptors:
      - { key: merchant, value: "m*", tenant: true, default_plan: free, in_flight: { max: 3, hold: 60s } }
`);
  const rule = ruleSet.domains.get('d')?.root.byKey.get('endpoint')?.children.wildcards.nodes[0]?.node.rule;
  expect(rule?.tenant?.level).toBe(1);
  expect(rule?.limits).toMatchObject([{ name: 'free' }, { algorithm: 'in_flight' }]);
});

test.each([
  {
    of: 'no default plan',
    fields: 'key: merchant, tenant: true',
    problem: 'c.yaml:7:5: descriptors[0].default_plan: is missing; name the plan of tenants without one',
  },
  {
    of: 'an unknown default plan',
    fields: 'key: merchant, tenant: true, default_plan: bgi',
    problem: 'c.yaml:7:50: descriptors[0].default_plan: unknown plan "bgi"; did you mean "big"? use one of "free", "big", "staff"',
  },
  {
    of: 'a single value',
    fields: 'key: merchant, value: m7, tenant: true, default_plan: big',
    problem:
      'c.yaml:7:41: descriptors[0].tenant: needs a descriptor for many tenants, and "m7" is a single one; remove its value, or tenant',
  },
  {
    of: 'limits of its own',
    fields: 'key: merchant, tenant: true, default_plan: big, rate_limits: [{ unit: day }]',
    problem:
      'c.yaml:7:30: descriptors[0].tenant: conflicts with rate_limits: the plan has the limits; move them into each plan, or remove tenant',
  },
  {
    of: 'a shared threshold',
    fields: 'key: "m*", tenant: true, default_plan: big, share_threshold: true',
    problem: 'c.yaml:7:26: descriptors[0].tenant: conflicts with share_threshold, which gives all values one bucket; remove one of them',
  },
])('a tenant descriptor with $of is refused', ({ fields, problem }) => {
  expect(problemsOf(withDescriptor(fields))).toEqual([problem]);
});

test('a tenant descriptor in a domain without plans is refused', () => {
  expect(problemsOf(withDescriptor('key: merchant, tenant: true, default_plan: big', ''))).toEqual([
    'c.yaml:3:30: descriptors[0].tenant: needs plans, which the domain does not have; add plans at the root of its first file',
  ]);
});

test.each([
  { of: 'no plan', plans: 'plans: {}\n', problem: 'c.yaml:2:8: plans: is empty; give it at least one plan, or remove it' },
  {
    of: 'an empty plan',
    plans: 'plans: { free: }\n',
    problem: 'c.yaml:2:16: plans.free: is empty; it must be a map of the keys rate_limit, rate_limits, pool, members',
  },
  {
    of: 'a plan without a limit',
    plans: 'plans: { free: {} }\n',
    problem: 'c.yaml:2:16: plans.free: has no limit; give it rate_limit, rate_limits or pool, perhaps with unlimited: true',
  },
  {
    of: 'a plan without a name',
    plans: 'plans: { "": { rate_limit: { unit: day } } }\n',
    problem: 'c.yaml:2:10: plans."": has an empty name; give the plan a name',
  },
  {
    of: 'a plan with a long name',
    plans: `plans: { ${'n'.repeat(256)}: { rate_limit: { unit: day } } }\n`,
    problem: expect.stringContaining('has a name of over 255 bytes; shorten it') as string,
  },
  {
    of: 'an unknown key in a plan',
    plans: 'plans: { free: { rate_limt: { unit: day } } }\n',
    problem: 'c.yaml:2:18: plans.free.rate_limt: unknown key in a plan; did you mean rate_limit?',
  },
  {
    of: 'a plan given twice',
    plans: 'plans: { a: { rate_limit: { unit: day } }, a: { rate_limit: { unit: day } } }\n',
    problem: expect.stringMatching(/^c\.yaml:2:44: plans\.a: given twice/) as string,
  },
  {
    of: 'two limits of a plan with one window',
    plans: 'plans: { a: { rate_limits: [{ unit: day, requests_per_unit: 1 }, { unit: day, requests_per_unit: 2 }] } }\n',
    problem: expect.stringContaining('plans.a.rate_limits[1]: uses fixed_window over the same window as the limit') as string,
  },
  {
    of: 'too many plans',
    plans: `plans: { ${Array.from({ length: 1_001 }, (_, i) => `p${i}: { rate_limit: { unit: day } }`).join(', ')} }\n`,
    problem: 'c.yaml:2:8: plans: has 1001 plans; use at most 1000',
  },
])('$of is refused with its place', ({ plans, problem }) => {
  expect(problemsOf(`domain: d\n${plans}`)).toContainEqual(problem);
});

test('plans belong to the first file of a domain', () => {
  const files = [
    { name: 'a.yaml', text: `domain: d\n${PLANS}` },
    { name: 'b.yaml', text: 'domain: d\ndescriptors: [{ key: merchant, tenant: true, default_plan: free }]\n' },
  ];
  const options = { defaultAlgorithm: 'fixed_window', mergeDomainConfig: true, generation: 1 } as const;
  expect(
    compileConfig({ ...options, files })
      .domains.get('d')
      ?.root.byKey.get('merchant')?.rule?.limits,
  ).toMatchObject([{ name: 'free' }]);
  const other = { name: 'c.yaml', text: 'domain: d\nplans: { x: { rate_limit: { unit: day } } }\n' };
  expect(() => compileConfig({ ...options, files: [...files, other] })).toThrow(
    'c.yaml:2:8: plans: applies to the whole domain, but a.yaml, its first file, sets its own; set it there',
  );
  expect(problemsOfFiles([files[0]!])).toEqual([]);
});

test('plans without tenants, and a default plan without them, have a warning', () => {
  expect(compileText(withDescriptor('key: k, default_plan: free, rate_limit: { unit: day, requests_per_unit: 1 }')).warnings).toEqual([
    'c.yaml:7:29: descriptors[0].default_plan: has no effect without tenant: true; add it, or remove this',
    'c.yaml:3:3: plans: has no effect because no descriptor has tenant: true; add it where the key is the tenant, or remove the plans',
  ]);
});

test('the limits of plans have the warnings of other limits', () => {
  const { warnings } = compileText(
    withDescriptor(
      'key: k, tenant: true, default_plan: a',
      'unmatched: allow\nplans: { a: { rate_limit: { unit: day, requests_per_unit: 5000 } } }\n',
    ),
  );
  expect(warnings).toEqual([expect.stringContaining('plans.a.rate_limit: lets 5000 hits pass at once, and then none for a long time')]);
});

test('/rlconfig shows each limit of each plan', () => {
  const lines = describeRules(compileText(withDescriptor('key: merchant, tenant: true, default_plan: free')));
  const modes = 'shadow_mode: false, quota_mode: false';
  expect(lines).toEqual([
    `d.merchant: unit=DAY requests_per_unit=90000, ${modes}, algorithm: fixed_window, plan: big, default_plan: free`,
    `d.merchant: unit=MINUTE requests_per_unit=100, ${modes}, algorithm: fixed_window, name: free, plan: free, default_plan: free`,
    `d.merchant: unit=MINUTE requests_per_unit=5000, ${modes}, algorithm: fixed_window, plan: big, default_plan: free`,
    `d.merchant: unlimited, ${modes}, plan: staff`,
  ]);
});
