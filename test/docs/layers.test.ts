/** The arrows between the folders of `src/` point inward, as docs/architecture.md says, and no import leads in a circle. */

import path from 'node:path';
import { ALGORITHMS } from '../../src/domain/algorithm/algorithms';
import { sourceFiles } from '../support/docs/source-files';

/** What a folder may import beside itself and `lib`; files directly in `src/` are listed by name. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  algorithm: [],
  descriptor: [],
  rule: ['algorithm', 'descriptor'],
  bucket: ['algorithm', 'descriptor', 'rule'],
  decide: ['algorithm', 'bucket', 'rule'],
  respond: ['descriptor', 'rule', 'bucket', 'decide'],
  control: ['descriptor', 'rule', 'store'],
  problems: [],
  yaml: ['problems'],
  settings: ['algorithm', 'descriptor', 'rule'],
  compile: ['algorithm', 'bucket', 'descriptor', 'problems', 'rule', 'yaml'],
  source: ['algorithm', 'compile', 'descriptor', 'problems', 'rule', 'settings', 'yaml'],
  store: ['algorithm', 'bucket', 'decide', 'descriptor', 'rule'],
  resilience: ['algorithm', 'bucket', 'decide', 'descriptor', 'rule', 'store'],
  reservation: ['algorithm', 'bucket', 'decide', 'descriptor', 'rule', 'store'],
  penalty: ['bucket', 'control', 'descriptor', 'rule', 'should-rate-limit', 'store'],
  request: ['bucket', 'decide', 'descriptor', 'rule', 'store'],
  'should-rate-limit': ['decide', 'descriptor', 'request', 'respond', 'rule', 'store'],
  top: ['decide', 'descriptor', 'rule', 'should-rate-limit', 'store'],
  observability: ['decide', 'descriptor', 'request', 'rule', 'should-rate-limit', 'store', 'top'],
  transport: [
    'algorithm',
    'decide',
    'descriptor',
    'observability',
    'request',
    'reservation',
    'respond',
    'rule',
    'should-rate-limit',
    'store',
  ],
  explain: ['algorithm', 'bucket', 'compile', 'descriptor', 'rule'],
  admin: [
    'algorithm',
    'bucket',
    'compile',
    'control',
    'decide',
    'descriptor',
    'explain',
    'rule',
    'settings',
    'should-rate-limit',
    'source',
    'store',
    'top',
    'yaml',
  ],
  workers: ['admin', 'observability', 'problems', 'source', 'yaml'],
  'admin-client': [],
  // It runs in browsers, and knows the admin API alone.
  console: ['admin-client'],
};

/** They know every part. */
const ROOTS = ['app', 'cli', 'library', 'main', 'warm-up'];

const PURE = ['algorithm', 'descriptor', 'rule', 'bucket', 'decide'];

/** Pure libraries, for hashing long keys and for time zones. */
const PURE_LIBRARIES = ['node:crypto', 'luxon'];

/** TypeScript, and JavaScript with types in JSDoc. */
const KINDS = ['.ts', '.tsx', '.mjs', '.cjs'];

/** Those of `src/`. */
const SOURCES = { kinds: ['.ts', '.tsx'] };

/** Siblings that a reader takes in at a glance. */
const SIBLINGS_MAX = 17;

interface Import {
  /** Files, seen from `src/`, without extension; `to` may be a library. */
  readonly from: string;
  readonly to: string;
}

function importsOf(): Import[] {
  return sourceFiles(SOURCES).flatMap(({ name, text }) =>
    Array.from(text.matchAll(/^(?:import|export) [^;]*?from '([^']+)'/gm), ([, specifier]) => {
      const isOwn = specifier!.startsWith('.');
      return { from: fileOf(name), to: isOwn ? path.posix.join(path.posix.dirname(name), specifier!) : specifier! };
    }),
  );
}

function fileOf(name: string): string {
  return name.replace(/\.tsx?$/, '');
}

function roomOf(file: string): string {
  return file.split('/')[0] ?? file;
}

test('a folder imports only folders further in', () => {
  const wrong = importsOf().filter(({ from, to }) => {
    const [room, target] = [roomOf(from), roomOf(to)];
    const isOwn = target in MAY_IMPORT || ROOTS.includes(target);
    return isOwn && !ROOTS.includes(room) && room !== target && target !== 'lib' && MAY_IMPORT[room]?.includes(target) !== true;
  });
  expect(wrong).toEqual([]);
});

test('the domain uses neither libraries nor edges', () => {
  const edges = [...Object.keys(MAY_IMPORT), ...ROOTS].filter((folder) => !PURE.includes(folder) && folder !== 'lib');
  const wrong = importsOf().filter(({ from, to }) => {
    const target = roomOf(to);
    return (
      PURE.includes(roomOf(from)) && !PURE.includes(target) && target !== 'lib' && (edges.includes(target) || !PURE_LIBRARIES.includes(to))
    );
  });
  expect(wrong).toEqual([]);
});

/** What can be reached from each node by the arrows, and leads back to it. */
function circlesOf(arrows: readonly Import[]): string[] {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of arrows) if (from !== to) next.set(from, (next.get(from) ?? new Set<string>()).add(to));
  const leadsTo = (start: string): ReadonlySet<string> => {
    const seen = new Set<string>();
    const waiting = [...(next.get(start) ?? [])];
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      if (seen.has(node)) continue;
      seen.add(node);
      waiting.push(...(next.get(node) ?? []));
    }
    return seen;
  };
  return [...next.keys()].filter((node) => leadsTo(node).has(node));
}

test('no import leads in a circle, between files or between folders', () => {
  const own = importsOf().filter(({ to }) => roomOf(to) in MAY_IMPORT || ROOTS.includes(roomOf(to)));
  const folders = own
    .map(({ from, to }) => ({ from: path.posix.dirname(from), to: path.posix.dirname(to) }))
    .filter(({ from, to }) => from !== '.' && to !== '.');
  expect(circlesOf(own)).toEqual([]);
  expect(circlesOf(folders)).toEqual([]);
  expect(
    circlesOf([
      { from: 'a', to: 'b' },
      { from: 'b', to: 'a' },
    ]),
  ).toEqual(['a', 'b']);
});

test.each(['src', 'scripts', 'test', 'bench'])('a folder of %s has at most 17 files', (folder) => {
  const counts = new Map<string, number>();
  for (const { name } of sourceFiles({ folder, kinds: KINDS }))
    counts.set(path.posix.dirname(name), (counts.get(path.posix.dirname(name)) ?? 0) + 1);
  expect(counts.size).toBeGreaterThan(4);
  expect([...counts].filter(([, count]) => count > SIBLINGS_MAX)).toEqual([]);
});

test('the folders of scripts do not import each other in a circle', () => {
  const folders = sourceFiles({ folder: 'scripts', kinds: KINDS }).flatMap(({ name, text }) =>
    Array.from(text.matchAll(/^import [^;]*? from '(\.[^']+)'/gm), ([, specifier]) => ({
      from: path.posix.dirname(name),
      to: path.posix.dirname(path.posix.join(path.posix.dirname(name), specifier!)),
    })),
  );
  expect(folders.length).toBeGreaterThan(30);
  expect(circlesOf(folders)).toEqual([]);
});

test('scripts that run before the npm packages are installed import none at their top', () => {
  const afterwards = ['generate/'];
  const early = sourceFiles({ folder: 'scripts', kinds: ['.mjs'] }).filter(
    ({ name }) => !afterwards.some((folder) => name.startsWith(folder)),
  );
  expect(early.length).toBeGreaterThan(30);
  const imports = early.flatMap(({ name, text }) =>
    Array.from(text.matchAll(/^import [^;]*?from '([^.'][^']*)'/gm), ([, specifier]) => `${name}: ${specifier!}`),
  );
  expect(imports.filter((each) => !each.includes(': node:'))).toEqual([]);
});

/** Where each store that may lie around Redis is made. */
function layersMade(): string[] {
  const files = sourceFiles();
  const classes = files
    .filter(({ name }) => name.startsWith('resilience/'))
    .flatMap(({ text }) => Array.from(text.matchAll(/^export class (\w+) implements Store/gm), ([, name]) => name!));
  const made = new RegExp(`\\bnew (${[...classes, 'BatchingStore'].join('|')})\\(`, 'g');
  return files.flatMap(({ name, text }) => Array.from(text.matchAll(made), ([, layer]) => `${name}: ${layer}`));
}

test('each layer around Redis is made in one place, for calls and for the warm-up', () => {
  expect(layersMade().sort()).toEqual(
    ['BatchingStore', 'BreakerStore', 'DeadlineStore', 'DenyCacheStore', 'FallbackStore'].map(
      (layer) => `resilience/wrap-redis.ts: ${layer}`,
    ),
  );
});

test('only src/domain/algorithm names an algorithm', () => {
  // As a text, or as the key of an object.
  const named = new RegExp(`['"](${ALGORITHMS.join('|')})['"]|^\\s*(${ALGORITHMS.join('|')}):`, 'm');
  const wrong = sourceFiles().filter(({ name, text }) => !name.startsWith('algorithm/') && named.test(text));
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

test('only src/state/store/redis/client uses the Redis client', () => {
  const users = importsOf().filter(({ to }) => to === 'redis' || to.startsWith('@redis/'));
  expect([...new Set(users.map(({ from }) => path.posix.dirname(from)))]).toEqual(['store/redis/client']);
});

test('every folder of src has its row in the layers', () => {
  const rooms = new Set(sourceFiles(SOURCES).map(({ name }) => roomOf(fileOf(name))));
  expect([...rooms].filter((room) => !(room in MAY_IMPORT)).sort()).toEqual(ROOTS);
});

test.each(['src', 'scripts'])('every file of %s opens with a sentence on what it owns', (folder) => {
  const wrong = sourceFiles({ folder, kinds: KINDS }).filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text));
  expect(wrong.map(({ name }) => name)).toEqual([]);
});
