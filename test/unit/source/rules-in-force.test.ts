/** Every source hands in whole sets, and gets the result of each. */

import { compileConfig } from '../../../src/configuration/compile/compile';
import type { ReadDocument } from '../../../src/configuration/yaml/config-document';
import { tapeOf } from '../../../src/configuration/yaml/tape-writer';
import type { ConfigNode } from '../../../src/configuration/yaml/config-node';
import { describeConfig } from '../../../src/configuration/source/describe-rules';
import { RulesInForce, type ConfigSet, type LoadOutcome } from '../../../src/configuration/source/rules-in-force';

const ok = (name: string): ConfigSet => ({ documents: [{ name: `${name}.yaml`, text: `domain: ${name}\n` }] });
const BAD: ConfigSet = {
  documents: [
    { name: 'a.yaml', text: 'domain: ""\n' },
    { name: 'b.yaml', text: 'domain: b\nx: 1\n' },
  ],
};

function makeRules(): RulesInForce {
  return new RulesInForce({
    compile: async ({ documents, problems = [] }, generation) => {
      await Promise.resolve();
      return compileConfig({ files: documents, problems, defaultAlgorithm: 'fixed_window', generation });
    },
  });
}

function errorOf(outcome: LoadOutcome): string[] {
  return 'error' in outcome ? outcome.error.message.split('\n') : [];
}

/** As a source builds it whose resources are messages. */
function node(value: unknown): ConfigNode {
  const placed = { offset: 0, size: 1 };
  if (Array.isArray(value)) return { kind: 'list', length: value.length, items: value.map(node), ...placed };
  if (typeof value === 'object' && value !== null) {
    return {
      kind: 'map',
      fields: new Map(Object.entries(value).map(([key, field]) => [key, { keyOffset: 0, value: node(field) }])),
      ...placed,
    };
  }
  return { kind: 'scalar', text: String(value), plain: typeof value !== 'string', ...placed };
}

test('/rlconfig says before the first set that there is none', async () => {
  const rules = makeRules();
  expect(await describeConfig(rules)).toEqual(['# config: none yet']);
  await rules.offer(BAD);
  expect((await describeConfig(rules))[0]).toBe('# config: none yet; the last configuration loaded was rejected:');
  await rules.offer(ok('one'));
  expect(await describeConfig(rules)).toEqual([]);
});

test('the first good set is generation 1, each further one the next, and a bad one keeps the last good one', async () => {
  const rules = makeRules();
  expect([rules.ruleSet, rules.error]).toEqual([undefined, undefined]);
  expect(errorOf(await rules.offer(BAD))).toEqual([
    'a.yaml:1:9: domain: must not be empty',
    expect.stringMatching(/^b\.yaml:2:1: x: /) as unknown,
  ]);
  expect(rules.ruleSet).toBeUndefined();
  await rules.offer(ok('one'));
  expect([rules.ruleSet?.generation, rules.error]).toEqual([1, undefined]);
  await rules.offer(BAD);
  expect([rules.ruleSet?.generation, rules.error?.problems.length]).toEqual([1, 2]);
  await rules.offer(ok('two'));
  expect([rules.ruleSet?.generation, [...rules.ruleSet!.domains.keys()], rules.error]).toEqual([2, ['two'], undefined]);
});

test('sets are loaded in the order of their arrival, and each gets its own answer', async () => {
  const rules = makeRules();
  const told: (number | string)[] = [];
  rules.onLoad((outcome) => told.push('ruleSet' in outcome ? outcome.ruleSet.generation : 'refused'));
  const outcomes = await Promise.all([rules.offer(ok('one')), rules.offer(BAD), rules.offer(ok('two'))]);
  expect(outcomes.map((outcome) => 'ruleSet' in outcome)).toEqual([true, false, true]);
  expect(told).toEqual([1, 'refused', 2]);
});

test('a set that was never text is loaded too, with problems by name and path', async () => {
  const rules = makeRules();
  const limit = { unit: 'hour', requests_per_unit: 7 };
  const document = (rateLimit: unknown): ReadDocument => ({
    name: 'resource-1',
    tape: tapeOf(node({ domain: 'd', descriptors: [{ key: 'k', rate_limit: rateLimit }] })),
  });
  expect(errorOf(await rules.offer({ documents: [document({ ...limit, unit: 'eon' })] }))).toEqual([
    expect.stringMatching(/^resource-1: descriptors\[0\]\.rate_limit\.unit: unknown unit "eon"/) as unknown,
  ]);
  expect('ruleSet' in (await rules.offer({ documents: [document(limit)] }))).toBe(true);
});

test('an unavailable part rejects the set, along with the problems of the rest', async () => {
  const rules = makeRules();
  const problems = [{ file: 'c.yaml', line: 0, column: 0, path: '', message: "can't be read" }];
  expect(errorOf(await rules.offer({ ...BAD, problems }))).toHaveLength(3);
  expect(errorOf(await rules.offer({ ...ok('d'), problems }))).toEqual(["c.yaml: can't be read"]);
});

test('an internal fault does not reject the set, and does not block the next one', async () => {
  let isBroken = true;
  const rules = new RulesInForce({
    compile: ({ documents }, generation) => {
      if (isBroken) return Promise.reject(new TypeError('broken'));
      return Promise.resolve(compileConfig({ files: documents, defaultAlgorithm: 'fixed_window', generation }));
    },
  });
  const broken = rules.offer(ok('one'));
  await expect(broken).rejects.toThrow('broken');
  isBroken = false;
  expect('ruleSet' in (await rules.offer(ok('two')))).toBe(true);
});

test('a generation that another process has assigned is kept', async () => {
  const rules = makeRules();
  await rules.offer(ok('one'), { generation: 41 });
  await rules.offer(ok('two'));
  expect(rules.ruleSet?.generation).toBe(42);
});
