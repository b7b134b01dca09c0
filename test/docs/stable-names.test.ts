/** No name that docs/policy.md calls stable disappears, or changes, before it was deprecated for as long as the page promises. */

import { runCommand } from '../support/processes/command';

const FILE = 'docs/generated/stable-names.json';

interface Deprecation {
  readonly kind: string;
  readonly name: string;
  readonly since: string;
  readonly until: string;
  readonly instead: string;
}

type Names = Readonly<Record<string, readonly string[]>>;

/** What a script prints as JSON. */
async function evaluate(code: string): Promise<unknown> {
  const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '--eval', code]);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

function brokenPromises(input: {
  readonly listed: Names;
  readonly present: Names;
  readonly deprecated: readonly Deprecation[];
  readonly version?: string;
  readonly changelog: string;
}): Promise<unknown> {
  return evaluate(`import { brokenPromises } from './scripts/generate/stable/promise.mjs';
    process.stdout.write(JSON.stringify(brokenPromises(${JSON.stringify({ version: '0.2.0', ...input })})));`);
}

let tree: { readonly present: Names; readonly faults: readonly string[]; readonly isComplete: boolean };

beforeAll(async () => {
  tree = (await evaluate(`import { readFileSync } from 'node:fs';
    import { renderStableNames } from './scripts/generate/stable-names.mjs';
    import { stableNames } from './scripts/generate/stable/names.mjs';
    import { brokenPromises } from './scripts/generate/stable/promise.mjs';
    const text = readFileSync('${FILE}', 'utf8');
    const { names: listed, deprecated } = JSON.parse(text);
    const present = stableNames('.');
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    const faults = brokenPromises({ listed, present, deprecated, version, changelog: readFileSync('CHANGELOG.md', 'utf8') });
    const isComplete = renderStableNames({ deprecated, names: listed }, present) === text;
    process.stdout.write(JSON.stringify({ present, faults, isComplete }));`)) as typeof tree;
});

test('every kind of name is found, and one of each is known', () => {
  const known: Readonly<Record<string, string>> = {
    setting: 'REDIS_URL',
    'YAML field': 'rate_limit.unit: day',
    metric: 'weir_decision_seconds{via}',
    'log code': 'config_refused',
    'route of the admin API': 'GET /v1/tenants',
    'field of the admin API': 'getTenant.reply.plan',
    'route or field of the HTTP port': 'POST /json',
    'message of weir.v1': 'Reserve',
    'command, flag or exit code': 'weir diff 10',
    'export of a package': 'limiter createLimiter',
    'value of the chart': 'redis.url',
    'key in Redis': 'weir:instances',
  };
  expect(Object.keys(tree.present)).toEqual(Object.keys(known));
  for (const [kind, name] of Object.entries(known)) expect(tree.present[kind]).toContain(name);
});

test('no listed name is gone, and each deprecated one works long enough', () => {
  if (tree.faults.length > 0) throw new Error(`${tree.faults.join('\n')}\nIf no release has the name, remove it from ${FILE}.`);
});

test('the list has each name of the tree', () => {
  if (!tree.isComplete) throw new Error(`${FILE} lacks names; run node scripts/generate/stable-names.mjs`);
});

describe('a name that is gone', () => {
  const listed = { setting: ['OLD_NAME', 'OTHER'] };
  const present = { setting: ['OTHER'] };
  const row = { kind: 'setting', name: 'OLD_NAME', since: '0.2.0', until: '0.5.0', instead: 'OTHER' };
  const changelog = '## [0.2.0] - 2026-01-02\n\n- `OLD_NAME` is deprecated.\n\n## [0.1.0] - 2026-01-01\n';

  test('is a fault without a row', async () => {
    expect(await brokenPromises({ listed, present, deprecated: [], changelog })).toEqual([
      'The setting OLD_NAME is gone. Restore it, or deprecate it first (docs/policy.md).',
    ]);
  });

  test('may be absent from the version of its row on, and not before', async () => {
    const input = { listed, present, deprecated: [row], changelog };
    expect(await brokenPromises({ ...input, version: '0.4.9' })).toEqual([
      'The setting OLD_NAME is gone in 0.4.9, but has to work until 0.5.0.',
    ]);
    expect(await brokenPromises({ ...input, version: '0.5.0' })).toEqual([]);
    expect(await brokenPromises({ ...input, version: '0.10.0' })).toEqual([]);
  });

  test.each([
    ['two further minor versions before 1.0.0', '0.2.0', '0.4.0', '0.5.0'],
    ['until the next major version after it', '1.2.0', '1.9.0', '2.0.0'],
  ])('works for %s', async (_, since, until, soonest) => {
    const early = { ...row, since, until };
    expect(await brokenPromises({ listed, present: listed, deprecated: [early], changelog: changelog.replace('0.2.0', since) })).toEqual([
      `The setting OLD_NAME, deprecated in ${since}, has to work until ${soonest}.`,
    ]);
  });

  test('is announced in the changelog', async () => {
    const silent = changelog.replace('OLD_NAME', 'A name');
    expect(await brokenPromises({ listed, present: listed, deprecated: [row], changelog: silent })).toEqual([
      'The section 0.2.0 of CHANGELOG.md does not name the deprecated setting OLD_NAME.',
    ]);
  });
});
