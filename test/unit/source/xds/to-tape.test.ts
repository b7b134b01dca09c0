/** A configuration compiles the same as a message and as a file, with the same rules, problems and warnings. */

import { stringify } from 'yaml';
import { compileConfig } from '../../../../src/configuration/compile/compile';
import type { ConfigDocument } from '../../../../src/configuration/yaml/config-document';
import { ConfigError, type ConfigProblem } from '../../../../src/configuration/problems/config-error';
import { toTape } from '../../../../src/configuration/source/xds/to-tape';
import { BoundError, CONFIG_DESCRIPTORS_MAX, FIELD_BYTES_MAX } from '../../../../src/configuration/source/xds/decode-config';
import { RESOURCES_MAX } from '../../../../src/configuration/source/xds/decode-response';
import { loadXdsProto } from '../../../../src/configuration/source/xds/proto';
import { readResourceSet } from '../../../../src/configuration/source/xds/resource-set';
import type {
  WireAny,
  WireConfigDescriptor,
  WireRateLimitConfig,
  WireRateLimitPolicy,
  WireValue,
} from '../../../../src/configuration/source/xds/wire';
import { randomFrom, seeded, type Random } from '../../../support/random/random';
import { packConfig } from '../../../support/servers/xds-server';

const { decodeConfig, stream } = loadXdsProto();

/** Descriptors that take far longer than a slice. */
const LONG = 10_000;

function readAll(resources: readonly WireAny[]) {
  return readResourceSet({ version_info: '1', resources, type_url: '' }, decodeConfig);
}

/** What the documents make: rules with their warnings, or problems. */
function outcomeOf(files: readonly ConfigDocument[], problems: readonly ConfigProblem[] = []) {
  try {
    const { domains, warnings } = compileConfig({ files, problems, defaultAlgorithm: 'fixed_window', generation: 1 });
    return { domains: JSON.parse(JSON.stringify([...domains.values()], asPlain)) as readonly unknown[], told: warnings };
  } catch (error) {
    if (error instanceof ConfigError) return { domains: [], told: error.message.split('\n') };
    throw error;
  }
}

/** Maps as their entries, so that JSON shows all there is. */
function asPlain(_name: string, value: unknown): unknown {
  return value instanceof Map ? { entries: [...value.entries()] as unknown } : value;
}

async function problemsOf(...configs: readonly WireRateLimitConfig[]): Promise<readonly string[]> {
  const { documents, problems } = await readAll(configs.map(packConfig));
  return outcomeOf(documents, problems).told;
}

const limited = (policy: WireRateLimitPolicy): WireRateLimitConfig => ({
  name: 'r',
  domain: 'd',
  descriptors: [{ key: 'k', rate_limit: policy }],
});

/** A file has lines where a message has paths. */
function withoutPlaces(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/^r:\d+:\d+: /, 'r: ').replace(/ (?:on line \d+|at descriptors[\w[\].]+)/g, ' HERE'));
}

test('a random configuration compiles the same as a message and as a file', async () => {
  const runs = seeded(1000);
  const random = randomFrom(runs);
  let goodOnes = 0;
  for (let run = 0; run < runs.numRuns; run += 1) {
    const config = randomConfig(random);
    const { documents, problems } = await readAll([packConfig(config)]);
    const asMessage = outcomeOf(documents, problems);
    const asFile = outcomeOf([{ name: 'r', text: toYaml(config) }]);
    expect({ ...asMessage, told: withoutPlaces(asMessage.told) }).toEqual({ ...asFile, told: withoutPlaces(asFile.told) });
    if (asMessage.domains.length > 0) goodOnes += 1;
  }
  // Neither all nor none of them.
  expect(goodOnes).toBeGreaterThan(runs.numRuns / 20);
  expect(goodOnes).toBeLessThan(runs.numRuns);
});

function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[random(choices.length)]!;
}

/** Once in this number of times. */
function seldom(random: Random, times: number): boolean {
  return random(times) === 0;
}

function randomConfig(random: Random): WireRateLimitConfig {
  return { name: 'r', domain: pick(random, ['d', 'd', 'd', 'd', 'd', '']), descriptors: randomDescriptors(random, 0) };
}

function randomDescriptors(random: Random, depth: number): WireConfigDescriptor[] {
  return Array.from({ length: random(depth > 2 ? 1 : 4) }, () => randomDescriptor(random, depth));
}

function randomDescriptor(random: Random, depth: number): WireConfigDescriptor {
  return {
    key: pick(random, ['a', 'b', 'c', 'true', '12', 'a*', 'd', 'e', 'f', 'g', 'h', '']),
    value: pick(random, ['', '', 'v', 'yes', '007', 'v*', '*', '~']),
    ...(!seldom(random, 3) && { rate_limit: randomPolicy(random) }),
    descriptors: randomDescriptors(random, depth + 1),
    shadow_mode: seldom(random, 5),
    quota_mode: seldom(random, 5),
    detailed_metric: seldom(random, 5),
    ...(seldom(random, 4) && { metadata: { fields: { owner: randomValue(random, 0), __proto__x: randomValue(random, 0) } } }),
  };
}

function randomPolicy(random: Random): WireRateLimitPolicy {
  return {
    unit: pick(random, [0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7]),
    requests_per_unit: pick(random, [0, 1, 10, 4_294_967_295]),
    unlimited: seldom(random, 9),
    name: pick(random, ['', '', 'n', 'm']),
    replaces: seldom(random, 4) ? [{ name: pick(random, ['n', 'm', 'o', 'p', '']) }] : [],
  };
}

function randomValue(random: Random, depth: number): WireValue {
  const kind = random(depth > 2 ? 4 : 6);
  if (kind === 0) return {};
  if (kind === 1) return { stringValue: pick(random, ['text', 'true', '1', '', 'null']) };
  if (kind === 2) return { numberValue: pick(random, [0, -1, 1.5, 1e21, 1e-7, 2 ** 53]) };
  if (kind === 3) return { boolValue: seldom(random, 2) };
  if (kind === 4) return { structValue: { fields: { x: randomValue(random, depth + 1) } } };
  return { listValue: { values: [randomValue(random, depth + 1), randomValue(random, depth + 1)] } };
}

const UNIT_TEXTS = [undefined, 'second', 'minute', 'hour', 'day', 'month', 'year', 'week'];

/** A file as somebody would write it who has the message before them. */
function toYaml({ domain, descriptors = [] }: WireRateLimitConfig): string {
  return stringify({ domain, descriptors: descriptors.map(toYamlDescriptor) }, { aliasDuplicateObjects: false });
}

function toYamlDescriptor({ value = '', rate_limit: policy, descriptors = [], metadata, ...rest }: WireConfigDescriptor): object {
  const { unit = 0, requests_per_unit: requestsPerUnit, replaces = [], unlimited = false, name = '' } = policy ?? {};
  const limit = {
    ...(unit !== 0 && { unit: UNIT_TEXTS[unit] }),
    ...((!unlimited || requestsPerUnit !== 0) && { requests_per_unit: requestsPerUnit }),
    ...(unlimited && { unlimited }),
    ...(name !== '' && { name }),
    ...(replaces.length > 0 && { replaces }),
  };
  return {
    key: rest.key,
    ...(value !== '' && { value }),
    ...(policy && { rate_limit: limit }),
    ...(descriptors.length > 0 && { descriptors: descriptors.map(toYamlDescriptor) }),
    ...(rest.shadow_mode === true && { shadow_mode: true }),
    ...(rest.detailed_metric === true && { detailed_metric: true }),
    ...(rest.quota_mode === true && { quota_mode: true }),
    ...(metadata && { metadata: Object.fromEntries(Object.entries(metadata.fields ?? {}).map(([key, field]) => [key, toPlain(field)])) }),
  };
}

function toPlain({ stringValue, numberValue, boolValue, structValue, listValue }: WireValue): unknown {
  if (structValue !== undefined)
    return Object.fromEntries(Object.entries(structValue.fields ?? {}).map(([key, field]) => [key, toPlain(field)]));
  if (listValue !== undefined) return (listValue.values ?? []).map(toPlain);
  return stringValue ?? numberValue ?? boolValue ?? null;
}

describe('problems name the resource and the path', () => {
  test('all problems of the set are listed at once', async () => {
    const bad = { name: 'b', domain: 'b', descriptors: [{ key: 'k', rate_limit: { unit: 0, requests_per_unit: 1 } }, { key: '' }] };
    expect(await problemsOf(limited({ unit: 9, requests_per_unit: 1 }), bad)).toEqual([
      expect.stringMatching(/^b: descriptors\[0\]\.rate_limit\.unit: is missing; use one of second, /) as unknown,
      'b: descriptors[1].key: must not be empty',
      expect.stringMatching(/^r: descriptors\[0\]\.rate_limit\.unit: unknown unit "9"; use one of second, /) as unknown,
    ]);
  });

  test("two equal descriptors name each other's paths", async () => {
    const twice = { name: 'r', domain: 'd', descriptors: [{ key: 'k', value: 'v' }, { key: 'l' }, { key: 'k', value: 'v' }] };
    expect(await problemsOf(twice)).toEqual([
      'r: descriptors[2]: key "k" with value "v" is configured twice here: at descriptors[0] and at descriptors[2]; merge them',
    ]);
  });

  test('a domain in two resources is a problem', async () => {
    expect(await problemsOf({ ...limited({ unit: 1 }), name: 'one' }, { ...limited({ unit: 1 }), name: 'two' })).toEqual([
      expect.stringContaining('two and one both configure it') as unknown,
    ]);
  });

  test.each([Number.NaN, Infinity, -Infinity])('a number in metadata that JSON cannot have is a problem: %s', async (numberValue) => {
    const config = {
      name: 'r',
      domain: 'd',
      descriptors: [{ key: 'k', rate_limit: { unit: 1, requests_per_unit: 1 }, metadata: { fields: { x: { numberValue } } } }],
    };
    expect(await problemsOf(config)).toEqual([
      expect.stringMatching(/^r: descriptors\[0\]\.metadata\.x: .* is not a number in JSON/) as unknown,
    ]);
  });

  test('a resource without a name is named by its index, and a name with line breaks is quoted', async () => {
    expect(await problemsOf({ ...limited({ unit: 9 }), name: '' })).toEqual([expect.stringMatching(/^resources\[0\]: /) as unknown]);
    expect(await problemsOf({ ...limited({ unit: 9 }), name: 'a\nb' })).toEqual([expect.stringMatching(/^"a\\nb": /) as unknown]);
  });
});

describe('unreadable messages', () => {
  const good = packConfig(limited({ unit: 1, requests_per_unit: 1 }));
  const deep = Array.from({ length: 200 }).reduce<WireConfigDescriptor>((child) => ({ key: 'k', descriptors: [child] }), { key: 'k' });

  test.each([
    [
      'another type',
      { type_url: 'type.googleapis.com/other', value: new Uint8Array() },
      'is of type "type.googleapis.com/other"; send type.googleapis.com/ratelimit',
    ],
    ['bytes that are not a message', { ...good, value: Uint8Array.of(0x0a, 0xff) }, 'is not a RateLimitConfig, or is nested too deep'],
    ['too deep a message', { ...good, value: nestedBytes(5000) }, 'is not a RateLimitConfig, or is nested too deep'],
  ])('%s is a problem, and the rest is still read', async (_, resource, message) => {
    const { documents, problems } = await readAll([good, resource]);
    expect(documents).toHaveLength(1);
    expect(problems.map((problem) => `${problem.file}: ${problem.message}`)).toEqual([
      expect.stringContaining(`resources[1]: ${message}`) as unknown,
    ]);
  });

  test('the maximum depth of a message is read, and rejected by the configuration', async () => {
    const descriptors = [nest(deep, 70)];
    expect(await problemsOf({ name: 'r', domain: 'd', descriptors })).toEqual([
      expect.stringContaining('nested more than 64 deep') as unknown,
    ]);
  });

  test('too many resources, and a response of another type, are problems', async () => {
    expect((await readAll(Array.from({ length: RESOURCES_MAX + 1 }, () => good))).problems).toMatchObject([
      { file: 'the response', message: `holds over ${RESOURCES_MAX} resources; send fewer` },
    ]);
    expect((await readResourceSet({ type_url: 'other', resources: [] }, decodeConfig)).problems).toMatchObject([
      { message: expect.stringMatching(/^is of type "other", but Weir subscribed to another type/) as unknown },
    ]);
  });
});

describe('bounds', () => {
  test('a list of too many resources is read up to the first excess one, with the other fields of the response', () => {
    const [head, tail] = [{ version_info: '7' }, { nonce: 'n' }].map((part) => stream.responseSerialize(part));
    const read = (resources: number) =>
      stream.responseDeserialize(Buffer.concat([head!, Buffer.alloc(2 * resources, Uint8Array.of(0x12, 0)), tail!]));
    for (const [sent, kept] of [
      [RESOURCES_MAX, RESOURCES_MAX],
      [1_000_000, RESOURCES_MAX + 1],
    ] as const) {
      const { resources = [], ...rest } = read(sent);
      expect(resources).toHaveLength(kept);
      expect(rest).toEqual({ version_info: '7', nonce: 'n' });
    }
    // One after the other, with something else in between, which is read all the same.
    const apart = Buffer.concat(Array.from({ length: RESOURCES_MAX + 9 }, () => Buffer.concat([Uint8Array.of(0x12, 0), tail!])));
    expect(stream.responseDeserialize(apart)).toMatchObject({ nonce: 'n', resources: { length: RESOURCES_MAX + 1 } });
  });

  /** Empty ones: two bytes each. */
  const empties = (count: number): WireAny => ({ ...packConfig({}), value: Buffer.alloc(2 * count, Uint8Array.of(0x1a, 0)) });

  async function toldOf(resources: readonly WireAny[]): Promise<readonly string[]> {
    const { problems } = await readAll(resources);
    return problems.map(({ file, message }) => `${file}: ${message}`);
  }

  test('descriptors are counted over all resources', async () => {
    const half = CONFIG_DESCRIPTORS_MAX / 2;
    const resources = [empties(half), empties(half), empties(1), packConfig({ domain: 'd' })];
    expect(await toldOf(resources)).toEqual([
      `resources[2]: exceeds the ${CONFIG_DESCRIPTORS_MAX} descriptors that a response may contain; send fewer`,
    ]);
  });

  test('no more than the maximum number is read', () => {
    const reading = decodeConfig(empties(100_000).value ?? new Uint8Array(), { descriptors: 10_000 });
    let steps = 0;
    expect(() => {
      while (reading.next().done !== true) steps += 1;
    }).toThrow(BoundError);
    // 4096 in each.
    expect(steps).toBe(2);
  });

  test('nested descriptors are counted too', () => {
    const within = { key: 'k', descriptors: Array.from({ length: 1000 }, () => ({ descriptors: [{}] })) };
    const config = { name: 'r', domain: 'd', descriptors: [within, within] };
    const allowance = { descriptors: 5000 };
    const reading = decodeConfig(packConfig(config).value ?? new Uint8Array(), allowance);
    while (reading.next().done !== true);
    expect(allowance).toEqual({ descriptors: 5000 - 2 * 2001 });
  });

  const numbers = (count: number): WireValue => ({ listValue: { values: Array.from({ length: count }, () => ({ numberValue: 0 })) } });

  test.each<[string, WireConfigDescriptor]>([
    ['metadata', { key: 'k', metadata: { fields: { x: numbers(100_000) } } }],
    [
      'rate_limit',
      { key: 'k', rate_limit: { unit: 1, requests_per_unit: 1, replaces: Array.from({ length: 100_000 }, () => ({ name: 'n' })) } },
    ],
    ['value', { key: 'k', value: 'v'.repeat(FIELD_BYTES_MAX + 1) }],
  ])('a %s that would block the event loop is rejected unread', async (name, descriptor) => {
    const config = { name: 'r', domain: 'd', descriptors: [{ key: 'x', descriptors: [descriptor] }] };
    expect(await toldOf([packConfig(config)])).toEqual([
      expect.stringMatching(new RegExp(`^resources\\[0\\]: a ${name} is \\d+ bytes long; use at most ${FIELD_BYTES_MAX}$`)) as unknown,
    ]);
  });

  test('metadata of the maximum size is accepted in every encoding', async () => {
    // Each number is 11 bytes of the message, and 2 of JSON.
    const config = {
      ...limited({ unit: 1, requests_per_unit: 1 }),
      descriptors: [{ key: 'k', rate_limit: { unit: 1, requests_per_unit: 1 }, metadata: { fields: { x: numbers(8180) } } }],
    };
    expect(await problemsOf(config)).toEqual([]);
  });
});

/** The first levels, up to a number. */
function nest(descriptor: WireConfigDescriptor, levels: number): WireConfigDescriptor {
  const [child] = descriptor.descriptors ?? [];
  return levels === 0 || child === undefined ? { key: 'k' } : { key: 'k', descriptors: [nest(child, levels - 1)] };
}

/** A config of nested descriptors, written by hand. */
function nestedBytes(levels: number): Uint8Array {
  let bytes = Buffer.alloc(0);
  for (let level = 0; level < levels; level += 1)
    bytes = Buffer.concat([Buffer.from([level === levels - 1 ? 0x1a : 0x22]), varint(bytes.length), bytes]);
  return bytes;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 127) | 128);
  }
}

test('the order of resources changes nothing', async () => {
  const all = ['c', 'a', 'b'].map((name) => packConfig({ name, domain: name }));
  const [one, other] = [await readAll(all), await readAll([...all].reverse())];
  expect(one.documents.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  expect(other.documents).toEqual(one.documents);
  expect(other.digest).toBe(one.digest);
  expect((await readAll(all.slice(1))).digest).not.toBe(one.digest);
});

test('a fixed set is a new set, however small the change is', async () => {
  const good = packConfig(limited({ unit: 1 }));
  const mended = await readAll([good]);
  expect((await readAll([{ ...good, type_url: 'other' }])).digest).not.toBe(mended.digest);
  const most = Array.from({ length: RESOURCES_MAX }, () => good);
  expect((await readAll([...most, good])).digest).not.toBe((await readAll(most)).digest);
});

test('a long resource is read in slices, with turns of the event loop between', async () => {
  const values = Array.from({ length: LONG }, (_, i) => `v${i}`);
  const descriptors = values.map((value) => ({ key: 'k', value, rate_limit: { unit: 1, requests_per_unit: 1 } }));
  // What comes last holds, as in any message.
  const parts = [{ domain: 'other' }, { name: 'r', descriptors }, { domain: 'd' }].map(
    (part) => packConfig(part).value ?? new Uint8Array(),
  );
  const resource = { ...packConfig({}), value: Buffer.concat(parts) };
  let turns = 0;
  let isRead = false;
  const count = () => {
    turns += 1;
    if (!isRead) setImmediate(count);
  };
  setImmediate(count);
  const { documents } = await readAll([resource]);
  isRead = true;
  // Each slice takes some milliseconds, on whatever machine.
  expect(turns).toBeGreaterThan(5);
  const [made] = outcomeOf(documents).domains as [{ readonly name: string; readonly root: unknown }];
  expect(made.name).toBe('d');
  expect(JSON.stringify(made).match(/(?<="path":\["k_)v\d+/g)).toEqual(values);
});

test.each([1, 2, 60])('a resource with nested descriptors is read in slices too, %i levels deep', (levels) => {
  const values = Array.from({ length: LONG }, (_, i) => `v${i}`);
  const leaves = values.map((value) => ({ key: 'k', value, rate_limit: { unit: 1, requests_per_unit: 1 } }));
  // Before, among and after them, what else a descriptor says.
  const above = (depth: number): WireConfigDescriptor =>
    depth === levels
      ? { key: 'leaves', descriptors: leaves, shadow_mode: true }
      : { key: `level ${depth}`, descriptors: [{ key: 'first' }, above(depth + 1), { key: 'last' }] };
  const config = { name: 'r', domain: 'd', descriptors: [above(1)] };
  let steps = 0;
  const reading = decodeConfig(packConfig(config).value ?? new Uint8Array(), { descriptors: CONFIG_DESCRIPTORS_MAX });
  let step = reading.next();
  for (; step.done !== true; step = reading.next()) steps += 1;
  const decoded = step.value;
  const making = toTape(decoded);
  let made = 0;
  for (let next = making.next(); next.done !== true; next = making.next()) made += 1;
  // Of some 190 KiB, 8 in a step; and a descriptor in a step.
  expect([steps > 20, made >= LONG]).toEqual([true, true]);
  expect(withoutEmpty(decoded)).toEqual(config);
});

/** A list that is empty says what an absent one does. */
function withoutEmpty(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_name, part: unknown) => (Array.isArray(part) && part.length === 0 ? undefined : part)));
}
